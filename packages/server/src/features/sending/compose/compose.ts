import type { Composition } from './composition.ts'
import { htmlToTextSteps } from '../../../kit/mime/html-to-text.ts'
import { doAtOnce, type InSlices } from '../../../kit/sliced-work.ts'
import { cleanLine } from '../../../kit/mime/text.ts'
import {
  encloseEntity,
  type Entity,
  multipartEntity,
  type OpenEntity,
  type Segment,
  segmentsLength,
  textEntity,
  type TextType,
} from '../../../kit/mime-writing/entity.ts'
import type { Mailbox } from '../../../kit/mime-writing/fields.ts'
import type { SeparablePart } from '../../../kit/mime-writing/survey-parts.ts'
import type { AttachedFile } from './attached.ts'
import { writeHeader } from './header.ts'
import { type PreparedFiles, prepareFiles } from './prepare-files.ts'
import { signHtml, signText, textToHtml } from './rules.ts'
import type { ContentLayout, FormRange } from './stored-content.ts'

/** A message to be stored. `stored-content.ts` reads it again. */
export interface Composed {
  /** JSON, to be kept with the content. */
  layout: ContentLayout
  /** Bytes of the stored content; null if the length of an attachment is not known. */
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

/** A message whose end other messages share that are written with the same files. */
export interface ComposedInParts extends Composed {
  /** All but the end. */
  head: Omit<Composed, 'text' | 'hasAttachments'>
  /** Null without files. */
  tail: Tail | null
}

export interface Tail {
  /** Messages with HTML have another end than messages without it, if a file is shown in HTML. */
  of: 'html' | 'text'
  /** @throws AttachmentsTooLarge, AttachmentChanged, and what reading an attachment throws */
  open(): AsyncGenerator<Buffer>
}

/** A text of this length is encoded in about a millisecond. */
const LARGE_TEXT_LENGTH = 64 * 1024

/** Writes a message. An attached message is read here once, to see whether it can be sent as it is. */
export async function composeMessage(
  { attachments, ...composition }: Composition,
  inSlices: InSlices,
): Promise<Composed> {
  return composeWith(composition, await prepareFiles(attachments), inSlices)
}

/** Writes one of several messages with the same files. */
export async function composeWith(
  composition: Omit<Composition, 'attachments'>,
  files: PreparedFiles,
  inSlices: InSlices,
): Promise<ComposedInParts> {
  const body = await signedBody(composition, inSlices)
  const text = await writeText('text/plain', body.text, inSlices)
  const html = body.html === null ? null : await htmlEntity(body.html, composition.wireHtml, inSlices)
  const calendar = await calendarEntity(composition.calendar, inSlices)
  const root = structure({ ...body, text, calendar }, html?.entity ?? null, files)
  const { header, layout: places } = writeHeader(cleanNames(composition))
  const head: Segment[] = [header, ...root.segments]
  const ranges = [...places.ranges, ...rangesOf(head, html?.forms ?? new Map())]
  const tail: Segment[] = [...root.tail, Buffer.from('\r\n')]
  const parts = partsOf([...head, ...tail], files.entities)
  const layout = { ...places, ranges, is8Bit: root.is8Bit, ...(parts && { parts }) }
  return {
    layout,
    byteLength: segmentsLength([...head, ...tail]),
    text: body.text,
    hasAttachments: files.hasAttachments,
    open: () => files.read([...head, ...tail]),
    head: { layout, byteLength: segmentsLength(head), open: () => files.read(head) },
    tail:
      files.entities.length === 0
        ? null
        : { of: body.html === null ? 'text' : 'html', open: () => files.read(tail) },
  }
}

/** Names of identities may come from elsewhere than a request. */
function cleanNames<C extends Pick<Composition, 'from'>>(composition: C): C {
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
async function signedBody(
  { text, html, signature }: Pick<Composition, 'text' | 'html' | 'signature'>,
  inSlices: InSlices,
): Promise<Body> {
  const toText = (markup: string) => inSlices(htmlToTextSteps(markup))
  const hasHtml = html !== null && html !== ''
  const plain = text !== null && text !== '' ? text : hasHtml ? await toText(html) : ''
  const signed = signature && (signature.text || signature.html) ? signature : null
  if (!signed) return { text: plain, html: hasHtml ? html : null }
  const textSignature = signed.text || (await toText(signed.html ?? ''))
  const htmlSignature = signed.html || textToHtml(signed.text ?? '')
  return {
    text: signText(plain, textSignature),
    html: hasHtml ? signHtml(html, htmlSignature) : null,
  }
}

function isShownInHtml({ isInline, contentId }: AttachedFile, html: string | null): boolean {
  return isInline && contentId !== null && html !== null
}

/**
 * RFC 2046 and RFC 2387: mixed(related(alternative(text, html, calendar), shown files), other files), as far as they exist.
 */
function structure(
  { text, html: shownHtml, calendar }: Omit<Body, 'text'> & { text: Entity; calendar: Entity | null },
  html: Entity | null,
  { entities, files, boundaries }: PreparedFiles,
): OpenEntity {
  // The last alternative that a program understands is the one that it uses.
  const others = [html, calendar].filter(entity => entity !== null)
  const content = others.length === 0 ? text : multipartEntity('alternative', [text, ...others])
  let root: OpenEntity = { ...content, tail: [] }
  const shown = entities.filter((_, index) => isShownInHtml(files[index]!, shownHtml))
  const unshown = entities.filter((_, index) => !isShownInHtml(files[index]!, shownHtml))
  if (shown.length > 0) root = encloseEntity('related', root, shown, boundaries.related)
  if (unshown.length > 0) root = encloseEntity('mixed', root, unshown, boundaries.mixed)
  return root
}

type SegmentForms = ReadonlyMap<Segment, FormRange['of']>

/** Writes a text. A large one waits until it is the turn of its tenant. */
async function writeText(type: TextType, text: string, inSlices: InSlices): Promise<Entity> {
  const steps = textEntity(type, text)
  return text.length > LARGE_TEXT_LENGTH ? inSlices(steps) : doAtOnce(steps)
}

async function calendarEntity(calendar: Composition['calendar'], inSlices: InSlices): Promise<Entity | null> {
  return calendar && writeText(`text/calendar; method=${calendar.method}`, calendar.text, inSlices)
}

/** The HTML part: one after the other for each form of the message, if they differ. */
async function htmlEntity(
  html: string,
  wireHtml: Composition['wireHtml'],
  inSlices: InSlices,
): Promise<{ entity: Entity; forms: SegmentForms }> {
  const copy = await writeText('text/html', html, inSlices)
  const onWire = (await wireHtml?.(html)) ?? html
  if (onWire === html) return { entity: copy, forms: new Map() }
  const wire = await writeText('text/html', onWire, inSlices)
  const forms = new Map<Segment, FormRange['of']>([
    ...copy.segments.map(segment => [segment, 'copy'] as const),
    ...wire.segments.map(segment => [segment, 'wire'] as const),
  ])
  return { entity: { ...copy, segments: [...copy.segments, ...wire.segments] }, forms }
}

/** The ranges of the segments that only one form has. The lengths of the segments before them are known. */
function rangesOf(segments: readonly Segment[], forms: SegmentForms): FormRange[] {
  const ranges: FormRange[] = []
  let start = 0
  for (const segment of segments) {
    const end = start + (segment.byteLength ?? 0)
    const of = forms.get(segment)
    if (of) ranges.push({ start, end, of })
    start = end
  }
  return ranges
}

/** A smaller message is handed over whole to every provider. */
const SPLIT_BYTES_MIN = 1024 * 1024
/** Each message of a merge has its layout, so that of more files none is noted. Reading the message finds them. */
const NOTED_PARTS_MAX = 20

/** The files of a large message. Null if there is none to be noted, or a length is not known. */
function partsOf(segments: readonly Segment[], entities: readonly Entity[]): SeparablePart[] | null {
  const bytes = segmentsLength(segments)
  const files = new Map(entities.flatMap(({ file, segments: [header] }) => (file ? [[header, file]] : [])))
  if (bytes === null || bytes < SPLIT_BYTES_MIN || files.size === 0 || files.size > NOTED_PARTS_MAX)
    return null
  const parts: SeparablePart[] = []
  let start = 0
  for (const [index, segment] of segments.entries()) {
    const file = files.get(segment)
    const separator = segments[index - 1]
    const body = segments[index + 1]
    if (file && separator && body) {
      const bodyStart = start + lengthOf(segment)
      const { byteLength, ...traits } = file
      parts.push({
        ...traits,
        // As it is written, and as JSON can be kept.
        filename: traits.filename?.toWellFormed() ?? null,
        start: start - lengthOf(separator),
        bodyStart,
        end: bodyStart + lengthOf(body),
        encoding: 'base64',
        byteLength: byteLength ?? 0,
      })
    }
    start += lengthOf(segment)
  }
  return parts
}

function lengthOf({ byteLength }: Segment): number {
  return byteLength ?? 0
}
