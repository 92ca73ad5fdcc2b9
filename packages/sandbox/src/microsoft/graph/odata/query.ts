import { badRequest } from '../errors.ts'

export const OPTIONS = [
  'select',
  'expand',
  'filter',
  'orderby',
  'search',
  'top',
  'skip',
  'count',
  'skiptoken',
  'deltatoken',
] as const
export type Option = (typeof OPTIONS)[number]

/** Options of OData that a request gives, without `$`, and its other parameters. */
export interface Query {
  readonly options: ReadonlyMap<Option, string>
  /** Parameters of Graph itself, such as `includeHiddenFolders`, with names in small letters. */
  readonly parameters: ReadonlyMap<string, string>
}

/** Reads a query. The sign `$` before a name may be missing, as on Graph v1.0. Refuses options that are not allowed. */
export function parseQuery(params: URLSearchParams, allowed: readonly Option[]): Query {
  const options = new Map<Option, string>()
  const parameters = new Map<string, string>()
  for (const [given, value] of params) {
    const name = given.replace(/^\$/, '').toLowerCase()
    const option = OPTIONS.find(one => one === name)
    if (option === undefined) {
      if (given.startsWith('$')) throw badRequest(`The query parameter '${given}' is not supported.`)
      parameters.set(name, value)
      continue
    }
    if (options.has(option))
      throw badRequest(
        `Query option '$${option}' was specified more than once, but it must be specified at most once.`,
      )
    if (!allowed.includes(option))
      throw badRequest(`The query parameter '$${option}' is not supported for this request.`)
    options.set(option, value)
  }
  return { options, parameters }
}

/** The value of an option that is a number of items; null if it was not given. */
export function numberOption(query: Query, option: 'top' | 'skip', max: number): number | null {
  const text = query.options.get(option)
  if (text === undefined) return null
  const number = Number(text)
  if (!/^\d{1,9}$/.test(text) || (option === 'top' && number === 0))
    throw badRequest(
      `Invalid value '${text}' for $${option} query option found. The $${option} query option requires a non-negative integer value.`,
    )
  if (number > max)
    throw badRequest(
      `The limit of '${max}' for ${option === 'top' ? 'Top' : 'Skip'} query has been exceeded. The value from the incoming request is '${number}'.`,
    )
  return number
}

/** Whether an option is `true`. Refuses any value but `true` and `false`. */
export function isTrue(query: Query, option: 'count'): boolean {
  const text = query.options.get(option)?.toLowerCase()
  if (text !== undefined && text !== 'true' && text !== 'false')
    throw badRequest(
      `Invalid value '${text}' for $${option} query option found. Valid values are 'true' and 'false'.`,
    )
  return text === 'true'
}

/** Splits at the commas outside of parentheses and quotes. */
export function splitList(text: string, separator: ',' | ';' = ','): string[] {
  const items: string[] = []
  let item = ''
  let depth = 0
  let isQuoted = false
  for (const sign of text) {
    if (sign === "'") isQuoted = !isQuoted
    if (!isQuoted && sign === '(') depth += 1
    if (!isQuoted && sign === ')') depth -= 1
    if (!isQuoted && depth === 0 && sign === separator) {
      items.push(item.trim())
      item = ''
    } else item += sign
  }
  return [...items, item.trim()].filter(one => one !== '')
}
