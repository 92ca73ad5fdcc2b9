import { boundaryOf } from './content-type.ts'
import { contentEnd, DELIMITER_LENGTH_MAX, findDashes } from './delimiter.ts'
import { HEADER_BYTES_MAX, readHeader } from './header.ts'
import {
  isCounted,
  type Leaf,
  openLeaf,
  type ParsedAttachment,
  type PartFields,
  readPartFields,
  toAttachment,
  toText,
} from './message-part.ts'
import { addLine, isTooLong, newHeader, type PartHeader } from './part-header.ts'

const DEPTH_MAX = 64
const PARTS_MAX = 1000
const FIELDS_MAX = 50_000
/** Maximum size of the text and of the HTML, decoded: a longer part is an attachment. */
const BODY_BYTES_MAX = 5 * 1024 * 1024
const LF = 10
const CR = 13
const DASH = 45

/** The content of a message. */
export interface ParsedMessage {
  /** Null if there is no such part. */
  text: string | null
  html: string | null
  attachments: ParsedAttachment[]
  hasAttachments: boolean
  /** False if the message exceeds a limit. The content up to that point is here. */
  isWhole: boolean
}

/** Reads a message piece by piece, in memory that does not grow with its attachments. Linear, and never throws. */
export interface MessageParser {
  push(bytes: Buffer): void
  end(): ParsedMessage
}

/** A multipart that is open. */
interface Level {
  boundary: string
  type: string
  /** Part number with a dot, or empty for the message itself. */
  prefix: string
  children: number
}

interface Reading {
  levels: Level[]
  /** The innermost level of each open boundary. */
  levelOf: Map<string, number>
  /** The header that is being read, and the number of its part; null while content is read. */
  header: PartHeader | null
  /** The part that the current content belongs to; null between parts. */
  leaf: Leaf | null
  /** Whether a text of the body has begun. */
  hasText: boolean
  bodies: { text: string[]; html: string[] }
  bodyBytes: { text: number; html: number }
  attachments: ParsedAttachment[]
  hasAttachments: boolean
  parts: number
  fields: number
  isLineStart: boolean
  /** Whether more bytes are needed to decide anything. */
  isStarved: boolean
  isOver: boolean
  /** Number of bytes of the message before those in the buffer. */
  base: number
}

export function openMessageParser(): MessageParser {
  const reading = begin()
  let rest = Buffer.alloc(0)
  const advance = (bytes: Buffer, isLast: boolean) => {
    const buffer = rest.length > 0 ? Buffer.concat([rest, bytes]) : bytes
    let at = 0
    reading.isStarved = false
    while (!reading.isStarved && !reading.isOver && at < buffer.length) {
      at = reading.header
        ? readHeaderLines(reading, buffer, at, isLast)
        : readContent(reading, buffer, at, isLast)
    }
    rest = Buffer.from(buffer.subarray(at))
    reading.base += at
  }
  return {
    push(bytes) {
      if (!reading.isOver) advance(bytes, false)
    },
    end() {
      if (!reading.isOver) advance(Buffer.alloc(0), true)
      if (reading.header && (!reading.header.isEmpty || reading.parts === 0)) endHeader(reading, reading.base)
      closeLeaf(reading, reading.base)
      const { bodies, attachments, hasAttachments, isOver } = reading
      return {
        text: join(bodies.text),
        html: join(bodies.html),
        attachments,
        hasAttachments,
        isWhole: !isOver,
      }
    },
  }
}

function begin(): Reading {
  return {
    levels: [],
    levelOf: new Map(),
    header: newHeader('1'),
    leaf: null,
    hasText: false,
    bodies: { text: [], html: [] },
    bodyBytes: { text: 0, html: 0 },
    attachments: [],
    hasAttachments: false,
    parts: 0,
    fields: 0,
    isLineStart: true,
    isStarved: false,
    isOver: false,
    base: 0,
  }
}

function join(texts: readonly string[]): string | null {
  return texts.length === 0
    ? null
    : texts.map(text => text.replace(/\n$/, '')).join('\n') + (texts.at(-1)!.endsWith('\n') ? '\n' : '')
}

/**
 * Reads header lines up to the empty one, or to a delimiter that cuts the header off. @returns the position it
 * reached
 */
function readHeaderLines(reading: Reading, buffer: Buffer, from: number, isLast: boolean): number {
  let at = from
  while (at < buffer.length) {
    const newline = buffer.indexOf(LF, at)
    if (newline < 0 && !isLast && buffer.length - at < HEADER_BYTES_MAX) break
    const end = newline < 0 ? buffer.length : newline + 1
    // A line longer than any header line arrives in pieces.
    const isStart = reading.isLineStart
    const delimiter = isStart && buffer[at] === DASH ? findLevel(reading, buffer, at, end) : null
    if (delimiter) {
      endHeader(reading, reading.base + at)
      if (!reading.isOver) pass(reading, delimiter, reading.base + at)
      return end
    }
    const isEmpty = isStart && (buffer[at] === LF || (buffer[at] === CR && end === at + 2 && newline >= 0))
    if (reading.header) addLine(reading.header, buffer.subarray(at, end), isStart)
    reading.isLineStart = newline >= 0
    at = end
    if (!isEmpty) continue
    endHeader(reading, reading.base + at)
    return at
  }
  reading.isStarved = true
  return at
}

/** Opens the part whose header was read. */
function endHeader(reading: Reading, start: number): void {
  const { header, levels } = reading
  if (!header) return
  reading.header = null
  reading.isLineStart = true
  reading.fields += header.fields
  reading.parts++
  if (reading.parts > PARTS_MAX || reading.fields > FIELDS_MAX || isTooLong(header)) {
    reading.isOver = true
    return
  }
  const text = Buffer.concat(header.lines).toString('latin1')
  const fields = readPartFields(readHeader(text, 0, text.length))
  const parent = levels.at(-1)
  if (openLevel(reading, header.id, fields)) return
  const place = {
    parent: parent?.type ?? null,
    isFirst: parent?.children === 1,
    isInAlternative: levels.some(({ type }) => type === 'multipart/alternative'),
    isAfterText: reading.hasText,
  }
  reading.leaf = openLeaf(header.id, fields, place, start)
  reading.hasText ||= reading.leaf.body !== null
}

/** @returns whether the part is a multipart whose parts are read */
function openLevel(reading: Reading, id: string, { type }: PartFields): boolean {
  const boundary = boundaryOf(type)
  if (boundary === null) return false
  if (reading.levels.length >= DEPTH_MAX) {
    reading.isOver = true
    return true
  }
  const prefix = reading.levels.length === 0 ? '' : `${id}.`
  reading.levels.push({ boundary, type: type.value, prefix, children: 0 })
  mapLevels(reading)
  return true
}

function mapLevels(reading: Reading): void {
  reading.levelOf = new Map(reading.levels.map(({ boundary }, index) => [boundary, index]))
}

/** Reads content up to and including the next delimiter. @returns the position it reached */
function readContent(reading: Reading, buffer: Buffer, from: number, isLast: boolean): number {
  if (reading.levels.length === 0) {
    take(reading, buffer.subarray(from))
    return buffer.length
  }
  for (let search = from; ;) {
    const line = findDashes(buffer, search, search === from && reading.isLineStart)
    if (line < 0)
      return stop(reading, buffer, from, isLast ? buffer.length : Math.max(from, buffer.length - 3))
    const newline = buffer.indexOf(LF, line)
    const isCut = newline < 0 && !isLast && buffer.length - line <= DELIMITER_LENGTH_MAX
    if (isCut) return stop(reading, buffer, from, contentEnd(buffer, from, line))
    const end = newline < 0 ? buffer.length : newline + 1
    const level = findLevel(reading, buffer, line, end)
    if (level) {
      const to = contentEnd(buffer, from, line)
      take(reading, buffer.subarray(from, to))
      pass(reading, level, reading.base + to)
      return end
    }
    search = line + 2
  }
}

/** Reads content up to `to` and waits for more. */
function stop(reading: Reading, buffer: Buffer, from: number, to: number): number {
  take(reading, buffer.subarray(from, to))
  if (to > from) reading.isLineStart = buffer[to - 1] === LF
  reading.isStarved = true
  return to
}

interface Delimiter {
  level: number
  isClosing: boolean
}

/** The open multipart to which the delimiter line belongs. */
function findLevel({ levelOf }: Reading, buffer: Buffer, at: number, end: number): Delimiter | null {
  if (buffer[at + 1] !== DASH || end - at > DELIMITER_LENGTH_MAX) return null
  const text = buffer.toString('latin1', at + 2, end).trimEnd()
  const level = levelOf.get(text)
  if (level !== undefined) return { level, isClosing: false }
  if (!text.endsWith('--')) return null
  const closed = levelOf.get(text.slice(0, -2).trimEnd())
  return closed === undefined ? null : { level: closed, isClosing: true }
}

/** Ends the parts that a delimiter ends, and begins the next part if there is one. */
function pass(reading: Reading, { level, isClosing }: Delimiter, end: number): void {
  closeLeaf(reading, end)
  const depth = isClosing ? level : level + 1
  if (reading.levels.length !== depth) {
    reading.levels.length = depth
    mapLevels(reading)
  }
  reading.isLineStart = true
  const open = isClosing ? undefined : reading.levels[level]
  if (open) reading.header = newHeader(`${open.prefix}${++open.children}`)
}

function take(reading: Reading, bytes: Buffer): void {
  const { leaf } = reading
  if (!leaf || bytes.length === 0) return
  keep(reading, leaf, leaf.decoder.push(bytes))
}

function keep({ bodyBytes }: Reading, leaf: Leaf, bytes: Buffer): void {
  leaf.size += bytes.length
  if (leaf.body === null) return
  bodyBytes[leaf.body] += bytes.length
  if (bodyBytes[leaf.body] <= BODY_BYTES_MAX) leaf.chunks.push(Buffer.from(bytes))
  else {
    bodyBytes[leaf.body] -= leaf.size
    leaf.body = null
    leaf.chunks = []
  }
}

function closeLeaf(reading: Reading, end: number): void {
  const { leaf, bodies } = reading
  if (!leaf) return
  reading.leaf = null
  keep(reading, leaf, leaf.decoder.end())
  if (leaf.body) bodies[leaf.body].push(toText(leaf))
  else {
    reading.attachments.push(toAttachment(leaf, end))
    reading.hasAttachments ||= isCounted(leaf)
  }
}
