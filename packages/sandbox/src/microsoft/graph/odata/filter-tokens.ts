import { badRequest } from '../errors.ts'

export type Literal = string | number | boolean | null

export interface Token {
  readonly kind: 'word' | 'sign' | 'text' | 'time' | 'number' | 'boolean'
  readonly text: string
  /** The value of a literal. A time is in milliseconds since 1970. */
  readonly value?: Literal
}

const TOKENS_MAX = 2_000
const TOKEN =
  /\s*(?:'((?:[^']|'')*)'|(\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?)|(-?\d+(?:\.\d+)?)(?![\w-])|([A-Za-z_][\w./-]*)|([(),:]))/y

/** Splits a `$filter` into its tokens. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  const end = text.trimEnd().length
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex
    const match = TOKEN.exec(text)
    if (!match || tokens.length === TOKENS_MAX)
      throw badRequest(`Invalid filter clause: Syntax error at position ${at} in '${text.slice(0, 200)}'.`)
    tokens.push(tokenOf(match))
  }
  return tokens
}

function tokenOf([whole, quoted, time, number, word, sign]: RegExpExecArray): Token {
  const text = whole.trim()
  if (quoted !== undefined) return { kind: 'text', text, value: quoted.replaceAll("''", "'") }
  if (time !== undefined) {
    const value = Date.parse(time.length === 10 || /(?:Z|[+-]\d{2}:\d{2})$/.test(time) ? time : `${time}Z`)
    if (Number.isNaN(value)) throw badRequest(`Invalid filter clause: '${time}' is no time.`)
    return { kind: 'time', text, value }
  }
  if (number !== undefined) return { kind: 'number', text, value: Number(number) }
  if (word === 'true' || word === 'false') return { kind: 'boolean', text, value: word === 'true' }
  if (word === 'null') return { kind: 'word', text, value: null }
  return { kind: sign === undefined ? 'word' : 'sign', text }
}
