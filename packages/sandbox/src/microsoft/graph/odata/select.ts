import { badRequest } from '../errors.ts'
import { splitList } from './query.ts'

/**
 * The properties of a `$select` as the schema spells them, always with `id`; null if there is no `$select`.
 * Refuses unknown names.
 */
export function parseSelect(
  text: string | undefined,
  known: readonly string[],
  type: string,
): readonly string[] | null {
  if (text === undefined) return null
  const names = splitList(text).map(given => {
    const name = known.find(one => one.toLowerCase() === given.toLowerCase())
    if (name === undefined)
      throw badRequest(
        `Parsing OData Select and Expand failed: Could not find a property named '${given}' on type '${type}'.`,
      )
    return name
  })
  return [...new Set(['id', ...names])]
}

/** One item of `$expand`: a navigation property and its own options, with names in small letters and without `$`. */
export interface Expanded {
  readonly name: string
  readonly options: ReadonlyMap<string, string>
}

/** Parses an `$expand`. Refuses unknown names. */
export function parseExpand(
  text: string | undefined,
  known: readonly string[],
  type: string,
): readonly Expanded[] {
  return splitList(text ?? '').map(item => {
    const [, given = '', , inner = ''] = /^([\w.]+)(\((.*)\))?$/s.exec(item) ?? []
    const name = known.find(one => one.toLowerCase() === given.toLowerCase())
    if (name === undefined)
      throw badRequest(
        `Parsing OData Select and Expand failed: Could not find a property named '${given || item}' on type '${type}'.`,
      )
    const options = splitList(inner, ';').map((option): [string, string] => {
      const equals = option.indexOf('=')
      if (equals < 0)
        throw badRequest(`Parsing OData Select and Expand failed: Term '${option}' is not valid.`)
      return [
        option.slice(0, equals).trim().replace(/^\$/, '').toLowerCase(),
        option.slice(equals + 1).trim(),
      ]
    })
    return { name, options: new Map(options) }
  })
}
