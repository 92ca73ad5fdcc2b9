import type { Attachment } from '../mailbox/message.ts'
import { parseSelect } from './odata/select.ts'
import { timeText } from './message-times.ts'

const TYPE = 'microsoft.graph.attachment'
const SHARED = ['id', 'lastModifiedDateTime', 'name', 'contentType', 'size', 'isInline']
const KNOWN = [...SHARED, 'contentId', 'contentLocation', 'contentBytes', 'sourceUrl']

/** An attachment as Graph answers it. `select` is the `$select` of a request. */
export function presentAttachment(attachment: Attachment, select?: string): Record<string, unknown> {
  const wanted = parseSelect(select, KNOWN, TYPE)
  const shown = allOf(attachment)
  if (wanted === null) return shown
  return Object.fromEntries(
    Object.entries(shown).filter(([name]) => name.startsWith('@') || wanted.includes(name)),
  )
}

function allOf(attachment: Attachment): Record<string, unknown> {
  const { kind, id, name, contentType, size, isInline, contentId, modifiedAt } = attachment
  return {
    '@odata.type': `#microsoft.graph.${kind}Attachment`,
    '@odata.mediaContentType': contentType,
    id,
    lastModifiedDateTime: timeText(modifiedAt),
    name,
    contentType,
    size,
    isInline,
    ...(kind === 'file' && {
      contentId,
      contentLocation: null,
      contentBytes: attachment.bytes.toString('base64'),
    }),
  }
}
