import { boundaryOf, readContentField } from '../mime/content-type.ts'
import { HEADER_BYTES_MAX, fieldText, readHeader } from '../mime/header.ts'
import { readTransferEncoding } from '../mime/transfer-encoding.ts'
import { lineBreaker, type LineEnd } from './line-breaker.ts'

/* Walks through a message line by line, so that its parts can be changed and all other bytes kept. */

const DEPTH_MAX = 64
/** Messages within one message that are looked into; the content of further ones is not. */
const MESSAGES_MAX = 1000
const DASH = 45
/** Their content must not be touched (RFC 1847 section 2.1). */
const SEALED = new Set(['multipart/signed', 'multipart/encrypted'])
const IDENTITY = new Set(['', '7bit', '8bit', 'binary'])

export interface WalkedPart {
  /** Counts the parts that have no parts of their own, from 0. */
  number: number
  isText: boolean
  /** Whether its content is what its bytes say: 7bit, 8bit or binary. */
  isIdentity: boolean
  /** Whether it is within something signed or encrypted. */
  isSealed: boolean
  /** Whether it is part of a message within the message. */
  isAttached: boolean
  /** The types of the multiparts around it, the outermost first. */
  within: readonly string[]
  /** Whether it is the first part of the multipart around it. */
  isFirst: boolean
}

/** Where the line begins that the visitor is called for, in bytes of the message. */
export interface LinePosition {
  start: number
  /** Bytes of the line break before it. */
  breakBytes: number
}

/** Called with the lines of a message in their order. The bytes are good until the call returns. */
export interface MessageVisitor {
  /** The lines of a header without the empty line after it; `part` is null if it has parts of its own. */
  header(lines: readonly Buffer[], part: WalkedPart | null): void
  /** A line of a part's content, or a piece of a line if `end` is `none`. */
  body(part: WalkedPart, line: Buffer, end: LineEnd): void
  /** A line that is neither: a delimiter, or text outside of the parts. */
  other(line: Buffer, end: LineEnd): void
  end(): void
}

/** The message cannot be walked through: a header has no end. */
export class UnwalkableMessage extends Error {
  override name = 'UnwalkableMessage'
}

interface Walk {
  visitor: MessageVisitor
  levels: Level[]
  /** The lines of the header that is being read; null within content. */
  header: Buffer[] | null
  headerBytes: number
  isSealed: boolean
  isAttached: boolean
  part: WalkedPart | null
  parts: number
  /** Number of messages that were found within this one. */
  messages: number
  isLineStart: boolean
  position: LinePosition
}

/** A multipart that is being walked through. */
interface Level {
  boundary: string
  isSealed: boolean
  isAttached: boolean
  /** Its type, after those of the multiparts around it. */
  types: readonly string[]
  /** Delimiters of its parts that have come. */
  parts: number
}

const END_BYTES: Record<LineEnd, number> = { crlf: 2, lf: 1, cr: 1, none: 0 }

/** Walks through the bytes of a message that are pushed. `position` is that of the line of the current call. */
export interface MessageWalker {
  readonly position: Readonly<LinePosition>
  push(bytes: Buffer): void
  end(): void
}

export function messageWalker(visitor: MessageVisitor): MessageWalker {
  const walk: Walk = {
    visitor,
    levels: [],
    header: [],
    headerBytes: 0,
    isSealed: false,
    isAttached: false,
    part: null,
    parts: 0,
    messages: 0,
    isLineStart: true,
    position: { start: 0, breakBytes: 0 },
  }
  const lines = lineBreaker((line, end) => {
    const { position } = walk
    passLine(line, end)
    position.start += line.length + END_BYTES[end]
    position.breakBytes = END_BYTES[end]
  })
  function passLine(line: Buffer, end: LineEnd): void {
    const isStart = walk.isLineStart
    walk.isLineStart = end !== 'none'
    if (isStart && line[0] === DASH && line[1] === DASH && passDelimiter(walk, line, end)) return
    if (walk.header) addToHeader(walk, walk.header, line, end, isStart)
    else if (walk.part) visitor.body(walk.part, line, end)
    else visitor.other(line, end)
  }
  return {
    position: walk.position,
    push: lines.push,
    end() {
      lines.end()
      if (walk.header) endHeader(walk, walk.header, false)
      visitor.end()
    },
  }
}

function passDelimiter(walk: Walk, line: Buffer, end: LineEnd): boolean {
  if (walk.levels.length === 0) return false
  const text = line.toString('latin1', 2).trimEnd()
  for (let level = walk.levels.length - 1; level >= 0; level--) {
    const { boundary } = walk.levels[level]!
    const isOpening = text.length === boundary.length
    // Lengths first: a message may have millions of such lines, within many levels.
    if (!isOpening && text.length !== boundary.length + 2) continue
    if (!text.startsWith(boundary) || (!isOpening && !text.endsWith('--'))) continue
    if (walk.header) endHeader(walk, walk.header, false)
    walk.levels.length = isOpening ? level + 1 : level
    if (isOpening) walk.levels[level]!.parts++
    walk.isSealed = walk.levels.at(-1)?.isSealed ?? false
    walk.isAttached = walk.levels.at(-1)?.isAttached ?? false
    walk.part = null
    walk.visitor.other(line, end)
    if (isOpening) beginHeader(walk)
    return true
  }
  return false
}

function beginHeader(walk: Walk): void {
  walk.header = []
  walk.headerBytes = 0
}

function addToHeader(walk: Walk, header: Buffer[], line: Buffer, end: LineEnd, isStart: boolean): void {
  if (isStart && line.length === 0 && end !== 'none') {
    endHeader(walk, header, true, end)
    return
  }
  walk.headerBytes += line.length
  if (walk.headerBytes > HEADER_BYTES_MAX) throw new UnwalkableMessage('A header is too long')
  if (isStart) header.push(Buffer.from(line))
  else header.push(Buffer.concat([header.pop() ?? Buffer.alloc(0), line]))
}

/** @param hasContent whether the empty line came, after which the content begins */
function endHeader(walk: Walk, lines: Buffer[], hasContent: boolean, end: LineEnd = 'crlf'): void {
  walk.header = null
  const text = `${lines.map(line => line.toString('latin1')).join('\n')}\n\n`
  const header = readHeader(text, 0, text.length)
  const type = readContentField(fieldText(header, 'content-type'))
  const encoding = readTransferEncoding(header)
  const isIdentity = IDENTITY.has(encoding)
  const boundary = boundaryOf(type)
  const isMultipart = boundary !== null && hasContent && walk.levels.length < DEPTH_MAX
  const isMessage =
    /^message\/(?:rfc822|global)$/.test(type.value) &&
    isIdentity &&
    hasContent &&
    walk.messages < MESSAGES_MAX
  walk.part =
    isMultipart || isMessage
      ? null
      : {
          number: walk.parts++,
          isText: type.value === '' || type.value.startsWith('text/'),
          // RFC 2046 section 5.2.1: messages have no encoding of their own.
          isIdentity: isIdentity && !type.value.startsWith('message/'),
          isSealed: walk.isSealed,
          isAttached: walk.isAttached,
          within: walk.levels.at(-1)?.types ?? [],
          isFirst: walk.levels.at(-1)?.parts === 1,
        }
  walk.visitor.header(lines, walk.part)
  if (hasContent) walk.visitor.other(Buffer.alloc(0), end)
  if (isMultipart) {
    walk.isSealed ||= SEALED.has(type.value)
    const types = [...(walk.levels.at(-1)?.types ?? []), type.value]
    const { isSealed, isAttached } = walk
    walk.levels.push({ boundary, isSealed, isAttached, types, parts: 0 })
  } else if (isMessage) {
    walk.messages++
    walk.isAttached = true
    beginHeader(walk)
  }
}
