import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LineEnd } from './line-breaker.ts'
import { asBuffer, encodeQuotedPrintable } from './transfer.ts'
import { messageWalker, type MessageVisitor, type WalkedPart } from './walk-message.ts'

/*
 * Makes a message that others wrote fit for SMTP: lines end with CRLF and have at most 998 bytes, there is no NUL, and
 * no byte beyond ASCII where the server takes none. Parts that are not fit are encoded as quoted-printable; all other
 * bytes stay as they are, and so does whatever is signed or encrypted.
 */

/** RFC 5321 section 4.5.3.1.6, without the CRLF. */
const LINE_BYTES_MAX = 998
const CRLF = Buffer.from('\r\n')
const SOFT_BREAK = Buffer.from('=\r\n')
const ENCODED_LF = Buffer.from('=\r\n=0A=\r\n')
const ENCODED_CR = Buffer.from('=\r\n=0D=\r\n')
const NUL = 0
/** Bytes that are examined before other work may run. */
const SLICE_BYTES = 64 * 1024

/** Content of a message that SMTP may not carry. */
export interface Survey {
  /** Numbers of the parts with a line that is too long, or with NUL, that can be encoded. */
  unfit: ReadonlySet<number>
  /** Numbers of the parts beyond ASCII that can be encoded. */
  beyondAscii: ReadonlySet<number>
  /** Whether the header of the message is beyond ASCII. */
  has8BitHeader: boolean
  /**
   * Whether something in the body is beyond ASCII that cannot be encoded: what is signed or encrypted, the header of a
   * part or of a message within the message, or text outside of the parts.
   */
  hasFixed8Bit: boolean
  /** Whether something that cannot be encoded is not fit: a header, or a sealed part. */
  isHopeless: boolean
}

/** The bytes beyond ASCII that the body of the message may have. */
export interface RefitOptions {
  allows8Bit: boolean
}

/** @throws UnwalkableMessage */
export async function surveyMessage(content: AsyncIterable<Uint8Array>): Promise<Survey> {
  const unfit = new Set<number>()
  const beyondAscii = new Set<number>()
  let has8BitHeader: boolean | null = null
  let hasFixed8Bit = false
  let isHopeless = false
  let lineBytes = 0
  const walker = messageWalker({
    header(lines) {
      isHopeless ||= lines.some(line => line.length > LINE_BYTES_MAX || line.includes(NUL))
      // The first header is that of the message; others are within its body.
      if (has8BitHeader === null) has8BitHeader = lines.some(is8Bit)
      else hasFixed8Bit ||= lines.some(is8Bit)
    },
    body(part, line, end) {
      lineBytes += line.length
      const isUnfit = lineBytes > LINE_BYTES_MAX || line.includes(NUL)
      if (end !== 'none') lineBytes = 0
      const isFree = part.isIdentity && !part.isSealed
      if (isUnfit && isFree) unfit.add(part.number)
      else isHopeless ||= isUnfit
      if (beyondAscii.has(part.number) || !is8Bit(line)) return
      if (isFree) beyondAscii.add(part.number)
      else hasFixed8Bit = true
    },
    other(line) {
      isHopeless ||= line.length > LINE_BYTES_MAX || line.includes(NUL)
      hasFixed8Bit ||= is8Bit(line)
    },
    end: () => undefined,
  })
  for await (const bytes of slices(content)) walker.push(bytes)
  walker.end()
  return { unfit, beyondAscii, has8BitHeader: has8BitHeader ?? false, hasFixed8Bit, isHopeless }
}

/** Content in slices that are examined at once. Content in memory would otherwise keep the event loop to itself. */
export async function* slices(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const bytes of content) {
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
      yield asBuffer(bytes.subarray(at, at + SLICE_BYTES))
      if (bytes.length >= SLICE_BYTES / 2) await nextTurn()
    }
  }
}

function is8Bit(line: Buffer): boolean {
  for (let at = 0; at < line.length; at++) if (line[at]! > 127) return true
  return false
}

/** Whether the message, once refitted, has bytes beyond ASCII in its body. */
export function staysBeyondAscii(survey: Survey, { allows8Bit }: RefitOptions): boolean {
  return survey.hasFixed8Bit || (allows8Bit && [...survey.beyondAscii].some(part => !survey.unfit.has(part)))
}

/** The message as it may be sent. `survey` is of the same content. */
export async function* refitMessage(
  content: AsyncIterable<Uint8Array>,
  survey: Survey,
  options: RefitOptions,
): AsyncGenerator<Buffer> {
  const out: Buffer[] = []
  const walker = messageWalker(refitter(survey, options, out))
  for await (const bytes of slices(content)) {
    walker.push(bytes)
    if (out.length > 0) yield Buffer.concat(out.splice(0))
  }
  walker.end()
  if (out.length > 0) yield Buffer.concat(out)
}

function refitter(survey: Survey, options: RefitOptions, out: Buffer[]): MessageVisitor {
  const is7Bit = !staysBeyondAscii(survey, options)
  /** The break at the end of an encoded part. It belongs to the delimiter, if one follows. */
  let lastEnd: LineEnd | null = null
  const isEncoded = ({ number }: WalkedPart) =>
    survey.unfit.has(number) || (!options.allows8Bit && survey.beyondAscii.has(number))
  const keep = (line: Buffer, end: LineEnd) => {
    out.push(line)
    if (end !== 'none') out.push(CRLF)
  }
  const endPart = () => {
    if (lastEnd !== null && lastEnd !== 'none') out.push(CRLF)
    lastEnd = null
  }
  return {
    header(lines, part) {
      const isRelabelled = part ? isEncoded(part) : is7Bit
      const kept = isRelabelled ? withoutEncoding(lines, part === null) : lines
      for (const line of kept) out.push(line, CRLF)
      if (part && isRelabelled) out.push(Buffer.from('Content-Transfer-Encoding: quoted-printable\r\n'))
    },
    body(part, line, end) {
      if (!isEncoded(part)) {
        keep(line, end)
        return
      }
      if (lastEnd !== null) out.push(encodedBreak(lastEnd, part.isText))
      out.push(encodeQuotedPrintable(line))
      lastEnd = end
    },
    other(line, end) {
      endPart()
      keep(line, end)
    },
    end: endPart,
  }
}

/** A line break of a text is one however it is written; other content keeps its bytes. */
function encodedBreak(end: LineEnd, isText: boolean): Buffer {
  if (end === 'none') return SOFT_BREAK
  if (end === 'crlf' || isText) return CRLF
  return end === 'lf' ? ENCODED_LF : ENCODED_CR
}

const ENCODING_FIELD = /^content-transfer-encoding[ \t]*:/i

/** A header without its transfer encoding; of one with parts of its own only 8bit and binary are taken away. */
function withoutEncoding(lines: readonly Buffer[], onlyIdentity: boolean): Buffer[] {
  let isDropped = false
  return lines.filter(line => {
    const text = line.toString('latin1')
    if (/^[ \t]/.test(text)) return !isDropped
    isDropped = ENCODING_FIELD.test(text) && (!onlyIdentity || /:[ \t]*(?:8bit|binary)\b/i.test(text))
    return !isDropped
  })
}
