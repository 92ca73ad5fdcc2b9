import { isUtf8 } from 'node:buffer'
import { decodeBytes } from '../mime/charset.ts'
import { decodeQuotedPrintable } from './quoted-printable.ts'

export interface Parameter {
  /** In upper case; null for a value without a name, as vCard 2.1 has them (`;HOME`). */
  name: string | null
  /** Without quotes, and with carets decoded (RFC 6868). */
  values: readonly string[]
  /** Bytes as latin1, without the semicolon before. */
  raw: string
}

/** A content line (RFC 5545 section 3.1) with an optional group (RFC 6350 section 3.3). */
export interface ContentLine {
  /** As written; null without one. Groups are compared without regard to case. */
  group: string | null
  /** In upper case. */
  name: string
  parameters: readonly Parameter[]
  /** Decoded from its charset and from quoted-printable, but with its escapes. */
  value: string
  /** The group and the name, as written. */
  rawName: string
}

/** A line with more parameters, or more bytes before its value, counts as malformed. */
const PARAMETERS_MAX = 1000
const HEAD_BYTES_MAX = 64 * 1024
const NAME = /^(?:([\w-]+(?:\.[\w-]+)*)\.)?([\w-]+)$/
const NAME_LENGTH_MAX = 200

const QUOTE = 34
const COLON = 58
const SEMICOLON = 59

/** Reads a logical line, given as latin1. Null if it is malformed: without a name, or without a colon. */
export function readLine(raw: string): ContentLine | null {
  const nameEnd = raw.search(/[:;]/)
  if (nameEnd < 1 || nameEnd > NAME_LENGTH_MAX) return null
  const rawName = raw.slice(0, nameEnd).trim()
  const [, group = null, name] = NAME.exec(rawName) ?? []
  if (name === undefined) return null
  // Some writers leave a lone quote in a parameter.
  const head = readParameters(raw, nameEnd, true) ?? readParameters(raw, nameEnd, false)
  if (!head) return null
  const { parameters, colon } = head
  return {
    group,
    name: name.toUpperCase(),
    parameters,
    value: readValue(raw.slice(colon + 1), parameters),
    rawName,
  }
}

/** The first value of a parameter; null if the line does not have it. */
export function parameterOf(line: Pick<ContentLine, 'parameters'>, name: string): string | null {
  return line.parameters.find(parameter => parameter.name === name)?.values[0] ?? null
}

/** Whether the value is written as quoted-printable, as vCard 2.1 and vCalendar 1.0 allow. */
export function isQuotedPrintable({ parameters }: Pick<ContentLine, 'parameters'>): boolean {
  return parameters.some(
    ({ name, values }) =>
      (name === 'ENCODING' || name === null) && values[0]?.toUpperCase() === 'QUOTED-PRINTABLE',
  )
}

function readValue(raw: string, parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return decode(raw, null)
  const line = { parameters }
  return decode(isQuotedPrintable(line) ? decodeQuotedPrintable(raw) : raw, parameterOf(line, 'CHARSET'))
}

function decode(raw: string, charset: string | null): string {
  if (charset === null && !/[\x80-\xff]/.test(raw)) return raw
  const bytes = Buffer.from(raw, 'latin1')
  // A byte order mark is a character of the value here.
  return isUtf8(bytes) && UTF8.has(charset?.toLowerCase() ?? '')
    ? bytes.toString('utf8')
    : decodeBytes(bytes, charset)
}

/** Without a name, the charset is found out. */
const UTF8 = new Set(['', 'utf-8', 'utf8'])

/** Reads parameters from the delimiter behind the name up to the colon before the value. */
function readParameters(raw: string, from: number, heedsQuotes: boolean) {
  const parameters: Parameter[] = []
  if (raw.charCodeAt(from) === COLON) return { parameters, colon: from }
  let isQuoted = false
  let start = from + 1
  const end = Math.min(raw.length, HEAD_BYTES_MAX)
  for (let at = start; at < end; at++) {
    const code = raw.charCodeAt(at)
    if (code === QUOTE) isQuoted = heedsQuotes && !isQuoted
    if (isQuoted || (code !== SEMICOLON && code !== COLON)) continue
    if (parameters.length === PARAMETERS_MAX) return null
    parameters.push(readParameter(raw.slice(start, at)))
    if (code === COLON) return { parameters, colon: at }
    start = at + 1
  }
  return null
}

function readParameter(raw: string): Parameter {
  const equals = raw.indexOf('=')
  const name = equals === -1 ? null : raw.slice(0, equals).trim().toUpperCase()
  return { name, values: splitQuoted(raw.slice(equals + 1)).map(readParameterValue), raw }
}

/** Splits at commas outside of quotes. */
function splitQuoted(raw: string): string[] {
  if (!raw.includes('"')) return raw.split(',')
  const values: string[] = []
  let isQuoted = false
  let start = 0
  for (let at = 0; at < raw.length; at++) {
    if (raw[at] === '"') isQuoted = !isQuoted
    else if (raw[at] === ',' && !isQuoted) {
      values.push(raw.slice(start, at))
      start = at + 1
    }
  }
  values.push(raw.slice(start))
  return values
}

function readParameterValue(raw: string): string {
  const trimmed = raw.trim()
  const isQuoted = trimmed.length > 1 && trimmed.startsWith('"') && trimmed.endsWith('"')
  const text = decode(isQuoted ? trimmed.slice(1, -1) : trimmed, null)
  return text.includes('^') ? text.replaceAll(/\^[n^']/g, caret => CARETS.get(caret)!) : text
}

/** RFC 6868 section 3.2. Any other caret stands for itself. */
const CARETS = new Map([
  ['^n', '\n'],
  ['^^', '^'],
  ["^'", '"'],
])
