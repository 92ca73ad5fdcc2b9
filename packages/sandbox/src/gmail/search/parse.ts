/** A search as Gmail reads it. */
export type Query =
  | { kind: 'and' | 'or'; terms: Query[] }
  | { kind: 'not'; term: Query }
  | { kind: 'words'; text: string }
  | { kind: 'field'; field: string; value: string }

const DEPTH_MAX = 20
const TOKENS_MAX = 500

/**
 * Parses a search: words, "phrases", field:value, -not, OR (which binds its neighbours), {either these} and
 * (groups). Gmail refuses nothing, so what is unfinished is closed at the end.
 */
export function parseQuery(text: string): Query {
  const tokens = (
    text.match(/[a-z_0-9]+:(?=[("{])|[a-z_0-9]+:[^\s(){}"]+|-(?=\S)|"[^"]*"?|[(){}]|[^\s(){}"]+/gi) ?? []
  ).slice(0, TOKENS_MAX)
  return group({ tokens, at: 0 }, '', 0)
}

interface Reader {
  tokens: string[]
  at: number
}

const CLOSING: Record<string, string> = { '(': ')', '{': '}' }

function group(reader: Reader, closing: string, depth: number): Query {
  const terms: Query[] = []
  let joins = false
  while (reader.at < reader.tokens.length) {
    const token = reader.tokens[reader.at++] as string
    if (token === closing) break
    if (token === ')' || token === '}' || token === 'AND') continue
    if (token === 'OR' || token === '|') {
      joins = terms.length > 0
      continue
    }
    const term = termOf(reader, token, depth)
    if (!term) continue
    const last = terms.at(-1)
    if (joins && last)
      terms[terms.length - 1] =
        last.kind === 'or' ? { ...last, terms: [...last.terms, term] } : { kind: 'or', terms: [last, term] }
    else terms.push(term)
    joins = false
  }
  return { kind: closing === '}' ? 'or' : 'and', terms }
}

function termOf(reader: Reader, token: string, depth: number): Query | null {
  if (depth > DEPTH_MAX) return null
  const closing = CLOSING[token]
  if (closing) return group(reader, closing, depth + 1)
  if (token === '-') {
    const next = reader.tokens[reader.at++]
    const term = next === undefined ? null : termOf(reader, next, depth + 1)
    return term && { kind: 'not', term }
  }
  if (token.startsWith('"')) return { kind: 'words', text: token.replaceAll('"', '') }
  const [, field = '', value = ''] = /^([a-z_0-9]+):(.*)$/is.exec(token) ?? []
  if (field === '') return { kind: 'words', text: token.replace(/^\+/, '') }
  if (value !== '') return { kind: 'field', field: field.toLowerCase(), value }
  const next = reader.tokens[reader.at++] ?? ''
  const opened = CLOSING[next]
  if (!opened) return { kind: 'field', field: field.toLowerCase(), value: next.replaceAll('"', '') }
  return withField(group(reader, opened, depth + 1), field.toLowerCase())
}

/** Gives the words of a group to the field in front of it: subject:(dinner film). */
function withField(query: Query, field: string): Query {
  if (query.kind === 'words') return { kind: 'field', field, value: query.text }
  if (query.kind === 'not') return { kind: 'not', term: withField(query.term, field) }
  if (query.kind === 'field') return query
  return { kind: query.kind, terms: query.terms.map(term => withField(term, field)) }
}
