import { boundaryOf, type ContentField, fileNameOf, readContentField } from './content-type.ts'
import { DELIMITER_LENGTH_MAX } from './delimiter.ts'
import { type Header, fieldText, readHeader } from './header.ts'
import { readContentId } from './message-part.ts'
import {
  bodyHalfOf,
  CALENDAR_TYPE,
  countsAsAttachment,
  type PartPlace,
  type PartTraits,
} from './part-role.ts'
import { readTransferEncoding } from './transfer-encoding.ts'

/* Reads the structure of a message like `message-parser.ts`, from its beginning in a string. */

const DEPTH_MAX = 64
const PARTS_MAX = 1000
/** The first part may be empty or contain only markup. The preview is not searched for beyond this many parts. */
const TEXT_PARTS_MAX = 4

export interface TextPart {
  isHtml: boolean
  charset: string | null
  encoding: string
  start: number
  end: number
}

export interface Parts {
  /** The first text parts that are not attachments, in the order of the message. */
  texts: TextPart[]
  hasAttachments: boolean
  /** Whether a part is a calendar object, as invitations by mail have it (RFC 6047 section 2.4). */
  hasCalendar: boolean
  /** Whether the given bytes end within an attachment, so that a little more would show no more text. */
  endsInAttachment: boolean
}

interface Level {
  boundary: string
  type: string
  children: number
}

/** A part that is not a multipart. */
export interface FoundPart {
  header: Header
  type: ContentField
  traits: PartTraits
  place: PartPlace
  /** The half of the body that it belongs to; null for an attachment. */
  half: 'text' | 'html' | null
  start: number
  /** The end of the message until the end of the part is found. */
  end: number
}

interface Walk {
  text: string
  isCut: boolean
  take(part: FoundPart): void
  levels: Level[]
  /** The index of the innermost level of each open boundary. */
  levelOf: Map<string, number>
  hasText: boolean
  /** The part that is being read. */
  open: FoundPart | null
}

/**
 * Reads the MIME structure of a message, or of its beginning, given as latin1. Linear, and never throws.
 * @param isCut whether the message may continue
 */
export function readParts(text: string, header: Header, isCut: boolean): Parts {
  const texts: FoundPart[] = []
  let hasAttachments = false
  let hasCalendar = false
  const open = walkParts(text, header, isCut, part => {
    hasCalendar ||= part.traits.type === CALENDAR_TYPE
    if (part.half === null) hasAttachments ||= countsAsAttachment(part.traits, part.place)
    else if (texts.length < TEXT_PARTS_MAX) texts.push(part)
  })
  return {
    texts: texts.map(part => ({
      isHtml: part.half === 'html',
      charset: part.type.parameters.get('charset') ?? null,
      encoding: readTransferEncoding(part.header),
      start: part.start,
      end: part.end,
    })),
    hasAttachments,
    hasCalendar,
    endsInAttachment: open !== null && open.half === null,
  }
}

/**
 * Walks through the parts of a message like `readParts`. The `end` of a part is set when the next one begins.
 * @returns the part in which the text ends, if it does
 */
export function walkParts(
  text: string,
  header: Header,
  isCut: boolean,
  take: (part: FoundPart) => void,
): FoundPart | null {
  const walk: Walk = { text, isCut, take, levels: [], levelOf: new Map(), hasText: false, open: null }
  let at = readPart(walk, header)
  for (let count = 1; at >= 0 && walk.levels.length > 0;) {
    const delimiter = findDelimiter(walk, at)
    if (!delimiter) break
    pass(walk, delimiter)
    at = delimiter.end
    if (delimiter.isClosing || at >= text.length) continue
    if (++count > PARTS_MAX) break
    at = readPart(
      walk,
      readHeader(text, at, text.length, start => readDelimiter(walk, start) !== null),
    )
  }
  return walk.open
}

/** @returns the position of the part's content; -1 if nothing more can be read */
function readPart(walk: Walk, header: Header): number {
  const isAtEnd = header.end >= walk.text.length
  // The rest of the header may change its meaning.
  if (walk.isCut && isAtEnd && !header.isComplete) return -1
  const type = readContentField(fieldText(header, 'content-type'))
  const parent = walk.levels.at(-1)
  if (parent) parent.children++
  const boundary = boundaryOf(type)
  if (boundary === null) readLeaf(walk, header, type)
  else if (walk.levels.length >= DEPTH_MAX) return -1
  else {
    walk.levels.push({ boundary, type: type.value, children: 0 })
    mapLevels(walk)
  }
  return header.end
}

function mapLevels(walk: Walk): void {
  walk.levelOf = new Map(walk.levels.map(({ boundary }, index) => [boundary, index]))
}

function readLeaf(walk: Walk, header: Header, type: ContentField): void {
  const disposition = readContentField(fieldText(header, 'content-disposition'))
  const traits: PartTraits = {
    type: type.value,
    disposition: disposition.value,
    hasFileName: fileNameOf(type, disposition) !== null,
    hasContentId: header.fields.has('content-id') && readContentId(header) !== null,
  }
  const parent = walk.levels.at(-1)
  const place: PartPlace = {
    parent: parent?.type ?? null,
    isFirst: parent?.children === 1,
    isInAlternative: walk.levels.some(level => level.type === 'multipart/alternative'),
    isAfterText: walk.hasText,
  }
  const half = bodyHalfOf(traits, place)
  walk.hasText ||= half !== null
  walk.open = { header, type, traits, place, half, start: header.end, end: walk.text.length }
  walk.take(walk.open)
}

interface Delimiter {
  level: number
  isClosing: boolean
  start: number
  /** The end of its line. */
  end: number
}

/** The next line that is a delimiter of an open multipart; `from` is the start of a line. */
function findDelimiter(walk: Walk, from: number): Delimiter | null {
  const { text } = walk
  let start = text.startsWith('--', from) ? from : text.indexOf('\n--', from) + 1
  while (start > 0) {
    const delimiter = readDelimiter(walk, start)
    if (delimiter) return delimiter
    start = text.indexOf('\n--', start) + 1
  }
  return null
}

/** The delimiter in the line at `start`, if there is one. */
function readDelimiter({ text, levelOf }: Walk, start: number): Delimiter | null {
  if (!text.startsWith('--', start)) return null
  const newline = text.indexOf('\n', start)
  const end = newline < 0 ? text.length : newline + 1
  if (end - start > DELIMITER_LENGTH_MAX) return null
  const name = text.slice(start + 2, end).trimEnd()
  const level = levelOf.get(name)
  if (level !== undefined) return { level, isClosing: false, start, end }
  const closed = name.endsWith('--') ? levelOf.get(name.slice(0, -2).trimEnd()) : undefined
  return closed === undefined ? null : { level: closed, isClosing: true, start, end }
}

/** Ends the parts that a delimiter ends. */
function pass(walk: Walk, { level, isClosing, start }: Delimiter): void {
  if (walk.open) walk.open.end = start
  walk.open = null
  const depth = isClosing ? level : level + 1
  if (walk.levels.length === depth) return
  walk.levels.length = depth
  mapLevels(walk)
}
