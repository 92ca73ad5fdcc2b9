import { isAttachment } from './attachment.ts'
import { fileNameOf, readContentField } from './content-type.ts'
import { type Header, fieldText, readHeader } from './header.ts'
import { readTransferEncoding } from './transfer-encoding.ts'

const DEPTH_MAX = 64
const PARTS_MAX = 1000
/** The first part may be empty or hold only markup; further down nobody looks for a preview. */
const TEXT_PARTS_MAX = 4

export interface TextPart {
  isHtml: boolean
  charset: string | null
  encoding: string
  start: number
  end: number
}

export interface Parts {
  /** The first text parts that are no attachments, in the order of the message. */
  texts: TextPart[]
  hasAttachments: boolean
}

interface Walk extends Parts {
  text: string
  count: number
}

/** Reads the MIME structure of a message, or of as much of it as is at hand, given as latin1. Bounded, never throws. */
export function readParts(text: string, header: Header): Parts {
  const walk: Walk = { text, texts: [], hasAttachments: false, count: 0 }
  readPart(walk, header, text.length, 0)
  return walk
}

function readPart(walk: Walk, header: Header, end: number, depth: number): void {
  if (depth > DEPTH_MAX || walk.count >= PARTS_MAX) return
  walk.count++
  const type = readContentField(fieldText(header, 'content-type'))
  const boundary = type.value.startsWith('multipart/') ? type.parameters.get('boundary') : undefined
  if (boundary) {
    readMultipart(walk, boundary, header.end, end, depth)
    return
  }
  const disposition = readContentField(fieldText(header, 'content-disposition'))
  const traits = {
    type: type.value,
    disposition: disposition.value,
    hasFileName: fileNameOf(type, disposition) !== null,
    hasContentId: header.fields.has('content-id'),
  }
  if (isAttachment(traits)) {
    walk.hasAttachments = true
    return
  }
  // A multipart without a boundary is its text.
  const isText =
    ['', 'text', 'text/plain', 'text/html'].includes(type.value) || type.value.startsWith('multipart/')
  if (!isText || walk.texts.length >= TEXT_PARTS_MAX) return
  walk.texts.push({
    isHtml: type.value === 'text/html',
    charset: type.parameters.get('charset') ?? null,
    encoding: readTransferEncoding(header),
    start: Math.min(header.end, end),
    end,
  })
}

function readMultipart(walk: Walk, boundary: string, start: number, end: number, depth: number): void {
  const delimiter = `--${boundary}`
  let partStart = -1
  let at = findDelimiter(walk.text, delimiter, start, end)
  while (at >= 0 && walk.count < PARTS_MAX) {
    if (partStart >= 0) readPart(walk, readHeader(walk.text, partStart, at), at, depth + 1)
    const after = at + delimiter.length
    const isLast = walk.text.startsWith('--', after)
    const lineEnd = walk.text.indexOf('\n', after)
    if (isLast || lineEnd < 0 || lineEnd >= end) return
    partStart = lineEnd + 1
    at = findDelimiter(walk.text, delimiter, partStart, end)
  }
  // The rest of a message that was cut off, or whose sender forgot the last delimiter.
  if (partStart >= 0) readPart(walk, readHeader(walk.text, partStart, end), end, depth + 1)
}

/** Where a line begins with the delimiter, or -1. */
function findDelimiter(text: string, delimiter: string, start: number, end: number): number {
  let at = text.indexOf(delimiter, start)
  while (at >= 0 && at < end) {
    const isLineStart = at === start || text.charCodeAt(at - 1) === 10
    // A longer boundary of an inner multipart may begin with this one.
    if (
      isLineStart &&
      /^(?:--|[ \t\r\n]|$)/.test(text.slice(at + delimiter.length, at + delimiter.length + 2))
    )
      return at
    at = text.indexOf(delimiter, at + delimiter.length)
  }
  return -1
}
