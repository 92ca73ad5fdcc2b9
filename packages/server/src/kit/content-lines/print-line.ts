import { doAtOnce, type Steps } from '../sliced-work.ts'
import { type ContentLine, isQuotedPrintable, type Parameter } from './content-line.ts'
import { encodeQuotedPrintable } from './quoted-printable.ts'

/** A line to be written. `value` has its escapes. Its parameters may come from a line that was read. */
export type WritableLine = Pick<ContentLine, 'rawName' | 'parameters' | 'value'>

/** A line that cannot be written, so that it would be read as it was meant. */
export class LineRefused extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'LineRefused'
  }
}

/** RFC 5545 section 3.1: bytes of a physical line, without its ending. */
const LINE_BYTES_MAX = 75
const NAME = /^[\w-]+(?:\.[\w-]+)*$/
/** Some readers also take line separators for the end of a line. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u
/** Bytes of parameters that a reader might take for something else. A tab is allowed. */
const CONTROL_BYTES = /[\x00-\x08\x0a-\x1f\x7f]/g

/**
 * A parameter whose values hold any text without control characters but line breaks (RFC 6868), quoted where it must.
 * @throws LineRefused for other control characters
 */
export function makeParameter(name: string, values: readonly string[]): Parameter {
  const printed = values.map(value => {
    if (!value.isWellFormed() || CONTROL.test(value.replaceAll('\n', '')))
      throw new LineRefused(`The parameter ${name} has a control character`)
    const text = value.replaceAll(/[\^\n"]/g, found => CARETS.get(found)!)
    return /[^\w.+-]/.test(text) ? `"${text}"` : text
  })
  if (!/^[\w-]+$/.test(name)) throw new LineRefused('A parameter has no name')
  return { name: name.toUpperCase(), values, raw: toLatin1(`${name}=${printed.join(',')}`) }
}

const CARETS = new Map([
  ['^', '^^'],
  ['\n', '^n'],
  ['"', "^'"],
])

/**
 * Prints a line, folded at 75 bytes between characters of UTF-8, and never before white space. A value that its parameters call quoted-printable is
 * encoded, and broken as that is.
 * @param ending of each physical line
 * @throws LineRefused for a value with control characters other than tabs, and for a name that none is
 */
export function printLine(line: WritableLine, ending: string): Buffer {
  return doAtOnce(printLineSteps(line, ending))
}

/** The same in steps, for a line of any length. */
export function* printLineSteps(line: WritableLine, ending: string): Steps<Buffer> {
  if (!NAME.test(line.rawName)) throw new LineRefused('A line has no name')
  const parameters = line.parameters.map(({ raw }) => `;${raw.replaceAll(CONTROL_BYTES, '')}`)
  const head = `${line.rawName}${parameters.join('')}:`
  if (!line.value.isWellFormed()) throw new LineRefused(`A value of ${line.rawName} is no text`)
  if (isQuotedPrintable(line)) return Buffer.from(breakSoftly(head, line.value, ending), 'latin1')
  if (CONTROL.test(line.value.replaceAll('\t', '')))
    throw new LineRefused(`A value of ${line.rawName} has a control character`)
  const folded = yield* foldSteps(head + toLatin1(line.value), line.rawName.length, ending)
  return Buffer.from(folded, 'latin1')
}

/** UTF-8, one character for each byte. */
const toLatin1 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

/** Physical lines of one step. */
const STEP_LINES = 200

/** @param nameLength the line is not folded within its name, nor right behind it */
function* foldSteps(line: string, nameLength: number, ending: string): Steps<string> {
  const pieces: string[] = []
  for (let start = 0; start < line.length;) {
    // The blank before a continuation counts.
    const room = start === 0 ? LINE_BYTES_MAX : LINE_BYTES_MAX - 1
    const end =
      start + room < line.length ? findFold(line, Math.max(start, nameLength), start + room) : line.length
    pieces.push(line.slice(start, end))
    start = end
    if (pieces.length % STEP_LINES === 0) yield
  }
  return pieces.join(`${ending} `) + ending
}

/**
 * White space in UTF-8, as latin1. For vobject, and so for Radicale, a line of nothing else ends the line before it: its
 * continuation would be a property of its own.
 */
const WHITE_SPACE =
  /[ \t]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80/y

/** The last place behind `start`, up to `at`, where the line may be folded. If there is none, the next one. */
function findFold(line: string, start: number, at: number): number {
  for (let end = at; end > start; end--) if (mayFold(line, end)) return end
  for (let end = Math.max(start, at) + 1; end < line.length; end++) if (mayFold(line, end)) return end
  return line.length
}

function mayFold(line: string, at: number): boolean {
  const isWithinCharacter = (line.charCodeAt(at) & 0xc0) === 0x80
  WHITE_SPACE.lastIndex = at
  return !isWithinCharacter && !WHITE_SPACE.test(line)
}

function breakSoftly(head: string, value: string, ending: string): string {
  const lines: string[] = []
  let line = head
  for (const encoded of encodeQuotedPrintable(value)) {
    if (line.length + encoded.length >= LINE_BYTES_MAX) {
      lines.push(`${line}=`)
      line = ''
    }
    line += encoded
  }
  return [...lines, line].join(ending) + ending
}
