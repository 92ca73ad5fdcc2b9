import { headerOf } from '../../mail/headers.ts'
import { parseMessage, type Part } from '../../mail/mime.ts'

/** A message taken apart: its own header lines, the part that is read, and its attachments, each with its bytes. */
export interface Pieces {
  /** Header lines that say nothing of the body's form, each with its line end. */
  head: Buffer
  /** The entity that is read: its Content lines, an empty line, and its body. */
  text: Buffer
  attachments: Piece[]
}

export interface Piece {
  entity: Buffer
  /** Stands beside the text, as the pictures of an HTML page do, and not below it. */
  isInline: boolean
}

interface AttachedPart {
  readonly part: Part
  readonly isInline: boolean
}

/** The part that is read, and the attachments in their order. */
export interface Parted {
  /** Null where a message is only a file. */
  readonly text: Part | null
  /** Attachments inside the part that is read, as in an alternative whose page brings its pictures. */
  readonly within: AttachedPart[]
  readonly attachments: AttachedPart[]
}

export function attachmentPartsOf(root: Part): Parted {
  const [first, ...rest] = root.parts
  if (root.mimeType === 'multipart/mixed' && first) {
    if (isAttached(first)) return { text: null, within: [], attachments: root.parts.map(asAttached) }
    const inner = attachmentPartsOf(first)
    return { ...inner, attachments: [...inner.attachments, ...rest.map(asAttached)] }
  }
  if (root.mimeType === 'multipart/related' && first)
    return { text: first, within: picturesIn(first), attachments: rest.map(asInline) }
  if (isAttached(root)) return { text: null, within: [], attachments: [asAttached(root)] }
  return { text: root, within: picturesIn(root), attachments: [] }
}

const picturesIn = (text: Part): AttachedPart[] =>
  text.mimeType === 'multipart/alternative'
    ? text.parts
        .filter(({ mimeType }) => mimeType === 'multipart/related')
        .flatMap(({ parts }) => parts.slice(1).map(asInline))
    : []

const asInline = (part: Part): AttachedPart => ({ part, isInline: true })

const isAttached = (part: Part): boolean =>
  !part.mimeType.startsWith('multipart/') &&
  (part.filename !== '' ||
    !part.mimeType.startsWith('text/') ||
    /^attachment/i.test(headerOf(part.headers, 'Content-Disposition')))

const asAttached = (part: Part): AttachedPart => ({
  part,
  isInline: /^inline/i.test(headerOf(part.headers, 'Content-Disposition')),
})

const EMPTY_TEXT = Buffer.from('Content-Type: text/plain; charset="utf-8"\r\n\r\n')

/** Takes a message apart. `putTogether` makes one of the pieces that reads the same. */
export function takeApart(raw: Buffer): Pieces {
  const root = parseMessage(raw)
  const { text, attachments } = attachmentPartsOf(root)
  const lines = linesOf(raw.subarray(0, headEnd(raw, root)))
  const isOfBody = (line: string) => /^(?:content-[a-z-]+|mime-version)[ \t]*:/i.test(line)
  const ownBody = Buffer.concat([
    Buffer.from(lines.filter(line => /^content-/i.test(line)).join(''), 'latin1'),
    Buffer.from('\r\n'),
    raw.subarray(root.bodyStart, root.bodyEnd),
  ])
  const entityOf = (part: Part) => (part === root ? ownBody : raw.subarray(part.start, part.bodyEnd))
  return {
    head: Buffer.from(lines.filter(line => !isOfBody(line)).join(''), 'latin1'),
    text: text ? entityOf(text) : EMPTY_TEXT,
    attachments: attachments.map(({ part, isInline }) => ({ entity: entityOf(part), isInline })),
  }
}

/** The end of the header lines, without the empty line behind them. */
function headEnd(raw: Buffer, root: Part): number {
  const before = root.bodyStart
  if (raw[before - 1] !== 10) return before
  const emptyLine = raw[before - 2] === 13 ? 2 : 1
  return raw[before - emptyLine - 1] === 10 || before === emptyLine ? before - emptyLine : before
}

/** The fields of a header block, with the lines that continue them. */
function linesOf(block: Buffer): string[] {
  const text = block.toString('latin1')
  const whole = text === '' || text.endsWith('\n') ? text : `${text}\r\n`
  return whole.split(/(?<=\n)(?![ \t])/).filter(line => line.trim() !== '')
}

/** Makes a message of its pieces: the text, what stands beside it, and below both the files. */
export function putTogether({ head, text, attachments }: Pieces, boundary: () => string): Buffer {
  const inline = attachments.filter(({ isInline }) => isInline).map(({ entity }) => entity)
  const files = attachments.filter(({ isInline }) => !isInline).map(({ entity }) => entity)
  const page = inline.length > 0 ? multipart('related', [text, ...inline], boundary()) : text
  const body = files.length > 0 ? multipart('mixed', [page, ...files], boundary()) : page
  return Buffer.concat([head, Buffer.from('MIME-Version: 1.0\r\n'), body])
}

/** A multipart entity (RFC 2046 section 5.1). */
export function multipart(subtype: string, entities: readonly Buffer[], boundary: string): Buffer {
  return Buffer.concat([
    Buffer.from(`Content-Type: multipart/${subtype};\r\n\tboundary="${boundary}"\r\n\r\n`),
    ...entities.flatMap(entity => [Buffer.from(`--${boundary}\r\n`), entity, Buffer.from('\r\n')]),
    Buffer.from(`--${boundary}--\r\n`),
  ])
}
