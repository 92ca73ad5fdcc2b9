import { decodeBytes } from './charset.ts'
import { decodeWords } from './encoded-words.ts'

const PARAMETERS_MAX = 64
const VALUE_LENGTH_MAX = 4096
/** RFC 2046 section 5.1.1 allows 70 characters. */
const BOUNDARY_LENGTH_MAX = 1000

/** RFC 2045 section 5.2: an invalid type counts as the default type. */
const PARAMETER = /^\s*[a-z][a-z0-9*-]*\s*=/i

export interface ContentField {
  /** Lower-cased, without parameters: `text/plain`, `attachment`. Empty if there are only parameters. */
  value: string
  /** Values by lower-cased name. RFC 2231 continuations are joined and decoded. */
  parameters: Map<string, string>
}

/** Reads a value with parameters (RFC 2045 section 5.1). Linear, and never throws. */
export function readContentField(field: string | null): ContentField {
  const text = (field ?? '').slice(0, VALUE_LENGTH_MAX * 4)
  const semicolon = text.indexOf(';')
  const parameters = new Map<string, string>()
  const words = semicolon < 0 ? text : text.slice(0, semicolon)
  // Comments (RFC 2045 section 5.1), and parameters of senders that forget the semicolon.
  const isWithoutValue = PARAMETER.test(words)
  const value = isWithoutValue ? '' : (words.trim().toLowerCase().split(/[\s(]/, 1)[0] ?? '')
  const forgotten = isWithoutValue ? 0 : findForgotten(words)
  if (semicolon >= 0 || forgotten >= 0) {
    let position = forgotten >= 0 ? forgotten : semicolon + 1
    for (let count = 0; count < PARAMETERS_MAX && position < text.length; count++) {
      position = readParameter(text, position, parameters)
    }
  }
  joinContinuations(parameters)
  return { value, parameters }
}

/** The position of a parameter that has no semicolon before it, or -1. */
function findForgotten(text: string): number {
  return text.includes('=') ? text.search(/\s[a-z][a-z0-9*-]*\s*=/i) : -1
}

function readParameter(text: string, from: number, parameters: Map<string, string>): number {
  const semicolon = text.indexOf(';', from)
  const end = semicolon < 0 ? text.length : semicolon
  const equals = text.indexOf('=', from)
  if (equals < 0) return text.length
  if (equals > end) return end + 1
  const name = text.slice(from, equals).trim().toLowerCase()
  let at = equals + 1
  while (text.charCodeAt(at) === 32 || text.charCodeAt(at) === 9) at++
  if (text[at] === '"') {
    const quoted = readQuoted(text, at)
    keep(parameters, name, quoted.value)
    const next = text.indexOf(';', quoted.end)
    const behind = next < 0 ? text.length : next + 1
    const forgotten = findForgotten(text.slice(quoted.end, behind))
    return forgotten < 0 ? behind : quoted.end + forgotten
  }
  const value = text.slice(at, end)
  // File names are often written with blanks and without quotes.
  const forgotten = isFileName(name) ? -1 : findForgotten(value)
  keep(parameters, name, withoutComment(name, (forgotten < 0 ? value : value.slice(0, forgotten)).trim()))
  return forgotten < 0 ? end + 1 : at + forgotten
}

function keep(parameters: Map<string, string>, name: string, value: string): void {
  if (name && !parameters.has(name)) parameters.set(name, value.slice(0, VALUE_LENGTH_MAX))
}

function isFileName(name: string): boolean {
  return name.startsWith('name') || name.startsWith('filename')
}

/** RFC 2045 section 5.1 allows comments; file names are often written with brackets and without quotes. */
function withoutComment(name: string, value: string): string {
  const comment = isFileName(name) ? -1 : value.indexOf(' (')
  return comment < 0 ? value : value.slice(0, comment).trimEnd()
}

/**
 * A backslash that escapes nothing is a plain character: senders write `C:
 * ew.pdf` unescaped.
 */
function readQuoted(text: string, at: number): { value: string; end: number } {
  let value = ''
  let position = at + 1
  for (; position < text.length; position++) {
    const character = text[position]
    if (character === '"') break
    const isEscape = character === '\\' && (text[position + 1] === '"' || text[position + 1] === '\\')
    value += isEscape ? text[++position] : character
  }
  return { value, end: position + 1 }
}

/** RFC 2231 sections 3 and 4: `name*0*=charset'language'%41; name*1=b`. */
function joinContinuations(parameters: Map<string, string>): void {
  for (const [key, value] of parameters) {
    const star = key.indexOf('*')
    if (star < 1) continue
    const name = key.slice(0, star)
    const suffix = key.slice(star)
    if (suffix === '*') parameters.set(name, decodeExtended(value))
    else if (suffix === '*0' || suffix === '*0*') {
      const isEncoded = suffix === '*0*'
      let whole = value
      for (let part = 1; part < PARAMETERS_MAX; part++) {
        const more =
          parameters.get(`${name}*${part}*`) ?? verbatim(parameters.get(`${name}*${part}`), isEncoded)
        if (more === undefined) break
        whole += more
      }
      parameters.set(name, isEncoded ? decodeExtended(whole) : whole)
    }
  }
}

/** RFC 2231 section 4.1: a piece without an asterisk is not encoded, even if its neighbours are. */
function verbatim(piece: string | undefined, isAmongEncoded: boolean): string | undefined {
  return isAmongEncoded ? piece?.replaceAll('%', '%25') : piece
}

function decodeExtended(value: string): string {
  const [charset, , ...rest] = value.split("'")
  if (rest.length === 0) return value
  const bytes = rest
    .join("'")
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return decodeBytes(Buffer.from(bytes, 'latin1'), charset ?? null)
}

/** The boundary of a multipart whose parts can be found; null for anything else. */
export function boundaryOf({ value, parameters }: ContentField): string | null {
  if (!value.startsWith('multipart/')) return null
  const boundary = parameters.get('boundary')?.trimEnd()
  return boundary && boundary.length <= BOUNDARY_LENGTH_MAX ? boundary : null
}

/** The name that a part gives itself, if any. */
export function fileNameOf(type: ContentField, disposition: ContentField): string | null {
  const name = disposition.parameters.get('filename') ?? type.parameters.get('name')
  return name ? decodeWords(name) : null
}
