import { decodeEntities } from '../../kit/mime/entities.ts'
import { identityOf } from '../../kit/mime/identity.ts'
import { type MessageSummary, summarize } from '../../kit/mime/summary.ts'
import { collapseText, cutText } from '../../kit/mime/text.ts'
import { readDraftMark } from '../draft-mark.ts'
import type { RemoteMessage } from '../mail.ts'
import { flagsOf, mailboxKeysOf } from './labels.ts'
import type { Message, Part, RawMessage } from './resources.ts'

const SNIPPET_LENGTH_MAX = 200
/** Parts nested deeper are not requested. */
const DEPTH_MAX = 8
const PARTS_MAX = 1_000

const FACTS = 'id,threadId,labelIds,snippet,internalDate,sizeEstimate'

function partFields(depth: number): string {
  const own = 'partId,mimeType,filename,headers,body(attachmentId,size)'
  return depth === 0 ? own : `${own},parts(${partFields(depth - 1)})`
}

/** Everything of a message that the index shows, and no content: it may be large, and would be paid for with time. */
export const MESSAGE_FIELDS = `${FACTS},payload(${partFields(DEPTH_MAX)})`
export const RAW_FIELDS = `${FACTS},raw`
/** The fields that may change under the same id. */
export const STATE_FIELDS = 'id,threadId,labelIds,internalDate'

export interface Labelling {
  /** Ids of the account's system labels that are no mailboxes. */
  ignoredLabels: ReadonlySet<string>
  /** The provider's ids of drafts by the id of their message. */
  draftKeys: ReadonlyMap<string, string>
}

/** A message as `format=full` describes it. */
export function toRemoteMessage(message: Message, labelling: Labelling): RemoteMessage {
  const summary = summarize(skeletonOf(message.payload ?? { headers: [] }))
  return describe(message, summary, message.sizeEstimate ?? null, labelling)
}

/** A message as `format=raw` describes it, with its source. */
export function toRemoteSource(message: RawMessage, labelling: Labelling): RemoteMessage {
  const source = Buffer.from(message.raw, 'base64url')
  return { ...describe(message, summarize(source), source.length, labelling), source }
}

function describe(
  message: Omit<RawMessage, 'raw'>,
  summary: MessageSummary,
  size: number | null,
  { ignoredLabels, draftKeys }: Labelling,
): RemoteMessage {
  const { internetMessageId, references, inReplyTo, subject, from, to, cc, bcc, replyTo, sentAt } = summary
  const receivedAt = receivedAtOf(message.internalDate) ?? sentAt ?? new Date(0)
  const facts = { internetMessageId, subject, from, sentAt, receivedAt, size }
  // Gmail makes snippets for web pages.
  const snippet = collapseText(decodeEntities(message.snippet))
  return {
    key: message.id,
    mailboxKeys: mailboxKeysOf(message.labelIds, ignoredLabels),
    identity: identityOf({ ...facts, size: size ?? 0 }, message.id),
    threadId: message.threadId,
    references,
    inReplyTo,
    to,
    cc,
    bcc,
    replyTo,
    snippet: cutText(snippet === '' ? summary.snippet : snippet, SNIPPET_LENGTH_MAX),
    hasAttachments: summary.hasAttachments,
    importance: summary.importance,
    draftMark: readDraftMark(summary.draftMark),
    draftKey: draftKeys.get(message.id) ?? null,
    mayBeReport: summary.mayBeReport,
    mayBeInvitation: summary.mayBeInvitation,
    ...facts,
    ...flagsOf(message.labelIds),
  }
}

/** `internalDate` is in milliseconds; null if it is no time that a date can hold. */
export function receivedAtOf(internalDate: string | undefined): Date | null {
  const date = new Date(internalDate === undefined ? Number.NaN : Number(internalDate))
  return Number.isNaN(date.getTime()) ? null : date
}

/**
 * The header and the structure of a message as its source has them, with empty parts: so that messages of all providers
 * are read by the same rules.
 */
function skeletonOf(payload: Part): Buffer {
  const lines: string[] = []
  let parts = 0
  const write = (part: Part, depth: number): void => {
    const children = part.parts ?? []
    const boundary = `b${(parts += 1)}`
    const isMultipart = children.length > 0 && /^multipart\//i.test(part.mimeType ?? '')
    for (const { name, value } of part.headers) {
      if (isMultipart && name.toLowerCase() === 'content-type') continue
      lines.push(`${oneLine(name)}: ${oneLine(value)}`)
    }
    if (isMultipart) lines.push(`Content-Type: ${oneLine(part.mimeType ?? '')}; boundary=${boundary}`)
    lines.push('')
    if (!isMultipart || depth > DEPTH_MAX) return
    for (const child of children) {
      if (parts >= PARTS_MAX) break
      lines.push(`--${boundary}`)
      write(child, depth + 1)
    }
    lines.push(`--${boundary}--`, '')
  }
  write(payload, 0)
  return Buffer.from(lines.join('\r\n'))
}

function oneLine(text: string): string {
  return text.includes('\n') || text.includes('\r') ? text.replaceAll(/[\r\n]+/g, ' ') : text
}
