import { htmlToText } from '../../../kit/mime/html-to-text.ts'
import { countsAsAttachment } from '../../../kit/mime/part-role.ts'
import { cleanLine } from '../../../kit/mime/text.ts'
import {
  type Entity,
  fileEntity,
  messageEntity,
  multipartEntity,
  readSegments,
  type Segment,
  segmentsLength,
  textEntity,
} from '../../../kit/mime-writing/entity.ts'
import { refitMessage, staysBeyondAscii, surveyMessage } from '../../../kit/mime-writing/refit.ts'
import { UnwalkableMessage } from '../../../kit/mime-writing/walk-message.ts'
import type { Mailbox } from '../../../kit/mime-writing/fields.ts'
import { type Allowance, type AttachedFile, counted, newAllowance, writableTraits } from './attached.ts'
import { writeHeader } from './header.ts'
import { signHtml, signText, textToHtml } from './rules.ts'
import type { ContentLayout } from './stored-content.ts'

/** A message that is to be written. Names and values have no control characters. */
export interface Composition {
  /** With angle brackets. */
  internetMessageId: string
  /** Null for a draft. */
  outboxId: string | null
  /** By which the provider's copy of a draft is recognised; null for a send. */
  draftMark: string | null
  date: Date
  from: Mailbox
  to: readonly Mailbox[]
  cc: readonly Mailbox[]
  bcc: readonly Mailbox[]
  replyTo: readonly Mailbox[]
  subject: string
  /** With angle brackets. */
  inReplyTo: string | null
  references: readonly string[]
  importance: 'high' | 'normal' | 'low' | null
  headers: ReadonlyArray<{ name: string; value: string }>
  text: string | null
  html: string | null
  /** Null: the message is not signed. */
  signature: Signature | null
  attachments: readonly AttachedFile[]
}

export interface Signature {
  text: string | null
  html: string | null
}

/** A message to be stored. `stored-content.ts` reads it again. */
export interface Composed {
  /** JSON, to be kept with the content. */
  layout: ContentLayout
  /** Of the stored content; null if the length of an attachment is not known. */
  byteLength: number | null
  /** The plain text as it is sent. */
  text: string
  hasAttachments: boolean
  /**
   * The content to store, from the first byte. It may be read again, but not twice at once.
   * @throws AttachmentsTooLarge, AttachmentChanged, and what reading an attachment throws
   */
  open(): AsyncGenerator<Buffer>
}

const NAME_LENGTH_MAX = 256

/** Writes a message. An attached message is read here once, to see whether it can be sent as it is. */
export async function composeMessage(composition: Composition): Promise<Composed> {
  const body = signedBody(composition)
  // Each reading of the message counts its attachments anew.
  const reading = { allowance: newAllowance() }
  const files = composition.attachments.map(file => ({
    ...writableTraits(file),
    byteLength: file.byteLength,
    open: () => file.open(),
  }))
  const { entities, is8Bit } = await attachAll(files, reading)
  const root = structure(body, entities, files)
  const { header, layout } = writeHeader(cleanNames(composition))
  const segments: Segment[] = [header, ...root.segments, Buffer.from('\r\n')]
  return {
    layout: { ...layout, is8Bit },
    byteLength: segmentsLength(segments),
    text: body.text,
    hasAttachments: files.some(isCounted),
    async *open() {
      reading.allowance = newAllowance()
      yield* readSegments(segments)
    },
  }
}

/** Names of identities may come from elsewhere than a request. */
function cleanNames(composition: Composition): Composition {
  const clean = ({ name, address }: Mailbox): Mailbox => ({
    name: name === null ? null : cleanLine(name, NAME_LENGTH_MAX * 2),
    address,
  })
  return { ...composition, from: clean(composition.from) }
}

interface Body {
  text: string
  html: string | null
}

/** The body with its signature, and the text that goes with HTML. */
function signedBody({ text, html, signature }: Composition): Body {
  const hasHtml = html !== null && html !== ''
  const plain = text !== null && text !== '' ? text : hasHtml ? htmlToText(html) : ''
  const signed = signature && (signature.text || signature.html) ? signature : null
  if (!signed) return { text: plain, html: hasHtml ? html : null }
  const textSignature = signed.text || htmlToText(signed.html ?? '')
  const htmlSignature = signed.html || textToHtml(signed.text ?? '')
  return {
    text: signText(plain, textSignature),
    html: hasHtml ? signHtml(html, htmlSignature) : null,
  }
}

function isShownInHtml({ isInline, contentId }: AttachedFile, html: string | null): boolean {
  return isInline && contentId !== null && html !== null
}

function isCounted({ contentType, filename, contentId, isInline }: AttachedFile): boolean {
  const disposition = isInline ? 'inline' : 'attachment'
  return countsAsAttachment(
    {
      type: contentType.toLowerCase(),
      disposition,
      hasFileName: filename !== null,
      hasContentId: contentId !== null,
    },
    { parent: 'multipart/mixed', isFirst: false, isInAlternative: false, isAfterText: true },
  )
}

/** RFC 2046 and RFC 2387: mixed(related(alternative(text, html), shown files), other files), as far as they exist. */
function structure(body: Body, entities: readonly Entity[], files: readonly AttachedFile[]): Entity {
  const text = textEntity('text/plain', body.text)
  let root =
    body.html === null ? text : multipartEntity('alternative', [text, textEntity('text/html', body.html)])
  const shown = entities.filter((_, index) => isShownInHtml(files[index]!, body.html))
  const others = entities.filter((_, index) => !isShownInHtml(files[index]!, body.html))
  if (shown.length > 0) root = multipartEntity('related', [root, ...shown])
  if (others.length > 0) root = multipartEntity('mixed', [root, ...others])
  return root
}

interface Reading {
  allowance: Allowance
}

async function attachAll(
  files: readonly AttachedFile[],
  reading: Reading,
): Promise<{ entities: Entity[]; is8Bit: boolean }> {
  const entities: Entity[] = []
  let is8Bit = false
  for (const file of files) {
    const attached = isMessage(file) ? await attachMessage(file, reading) : null
    entities.push(attached?.entity ?? attachFile(file, reading))
    is8Bit ||= attached?.is8Bit ?? false
  }
  return { entities, is8Bit }
}

function isMessage({ contentType }: AttachedFile): boolean {
  return contentType.toLowerCase() === 'message/rfc822'
}

/** A message that cannot stand within a message keeps its bytes, as a file of no known type. */
function attachFile(file: AttachedFile, reading: Reading): Entity {
  const traits = isMessage(file) ? { ...file, contentType: 'application/octet-stream' } : file
  return fileEntity(traits, file.byteLength, () => counted(file, reading.allowance))
}

/** RFC 2046 section 5.2.1 allows no base64 here. Null if the message is not fit for that. */
async function attachMessage(
  file: AttachedFile,
  reading: Reading,
): Promise<{ entity: Entity; is8Bit: boolean } | null> {
  try {
    const survey = await surveyMessage(counted(file, reading.allowance))
    if (survey.isHopeless) return null
    const options = { allows8Bit: false }
    const is8Bit = staysBeyondAscii(survey, options)
    const open = () => refitMessage(counted(file, reading.allowance), survey, options)
    return { entity: messageEntity(file, is8Bit, { byteLength: null, open }), is8Bit }
  } catch (error) {
    if (error instanceof UnwalkableMessage) return null
    throw error
  }
}
