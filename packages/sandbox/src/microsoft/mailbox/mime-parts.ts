import { isAttachment, parseMessage, type Part } from '../../mail/mime.ts'

/** A message taken apart: its own header lines, the part that is read, and what is attached, each with its bytes. */
export interface Pieces {
  /** Header lines that do not describe the form of the body, each with its line end. */
  head: Buffer
  /** The entity that is read: its Content lines, an empty line, and its body. */
  text: Buffer
  /** Attachments inside the text, as in an alternative whose page brings its pictures. */
  attachmentsWithin: number
  attached: Piece[]
}

export interface Piece {
  entity: Buffer
  /** Whether it is beside the text, like the pictures of an HTML page, and not below it. */
  isBeside: boolean
  /** 1 for an attachment, 0 for more text, more for a multipart with attachments of its own. */
  attachments: number
}

interface Split {
  text: Part | null
  beside: readonly Part[]
  below: readonly Part[]
}

/** The part that is read, what stands beside it, and what stands below. Together they have every attachment. */
function split(root: Part): Split {
  if (root.mimeType === 'multipart/mixed' && root.parts.length > 0) {
    const text = root.parts.find(part => !isAttached(part)) ?? null
    const others = root.parts.filter(part => part !== text)
    if (!text || root.parts[0] !== text) return { text, beside: [], below: others }
    const inner = split(text)
    return { ...inner, below: [...inner.below, ...others] }
  }
  const [first, ...rest] = root.parts
  if (root.mimeType === 'multipart/related' && first) return { text: first, beside: rest, below: [] }
  return isAttached(root) ? { text: null, beside: [], below: [root] } : { text: root, beside: [], below: [] }
}

const isAttached = (part: Part): boolean => part.mimeType === 'message/rfc822' || isAttachment(part)

/** The number of attachments that Graph lists of a part and those below it. */
const countIn = (part: Part): number =>
  isAttached(part) ? 1 : part.parts.reduce((sum, child) => sum + countIn(child), 0)

const EMPTY_TEXT = Buffer.from('Content-Type: text/plain; charset="utf-8"\r\n\r\n')

/** Takes a message apart. `putTogether` makes one of the pieces that reads the same. */
export function takeApart(raw: Buffer): Pieces {
  const root = parseMessage(raw)
  const { text, beside, below } = split(root)
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
    attachmentsWithin: text ? countIn(text) : 0,
    attached: [
      ...beside.map(part => ({ entity: entityOf(part), isBeside: true, attachments: countIn(part) })),
      ...below.map(part => ({ entity: entityOf(part), isBeside: false, attachments: countIn(part) })),
    ],
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
export function putTogether(
  { head, text, attached }: Pick<Pieces, 'head' | 'text' | 'attached'>,
  boundary: () => string,
): Buffer {
  const beside = attached.filter(({ isBeside }) => isBeside).map(({ entity }) => entity)
  const below = attached.filter(({ isBeside }) => !isBeside).map(({ entity }) => entity)
  const page = beside.length > 0 ? multipart('related', [text, ...beside], boundary()) : text
  const body = below.length > 0 ? multipart('mixed', [page, ...below], boundary()) : page
  return Buffer.concat([head, Buffer.from('MIME-Version: 1.0\r\n'), body])
}

/** The pieces without the attachment of this number, in Graph's order; null if it cannot be taken out of another part. */
export function withoutAttachment(pieces: Pieces, nth: number): Pieces | null {
  let number = pieces.attachmentsWithin
  if (nth < number) return null
  for (const [at, { attachments }] of pieces.attached.entries()) {
    if (nth === number && attachments === 1) return { ...pieces, attached: pieces.attached.toSpliced(at, 1) }
    number += attachments
    if (nth < number) return null
  }
  return null
}

/** A multipart entity (RFC 2046 section 5.1). */
export function multipart(subtype: string, entities: readonly Buffer[], boundary: string): Buffer {
  return Buffer.concat([
    Buffer.from(`Content-Type: multipart/${subtype};\r\n\tboundary="${boundary}"\r\n\r\n`),
    ...entities.flatMap(entity => [Buffer.from(`--${boundary}\r\n`), entity, Buffer.from('\r\n')]),
    Buffer.from(`--${boundary}--\r\n`),
  ])
}
