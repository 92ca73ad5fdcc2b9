import { invalidArgument } from '../../google/api/refusal.ts'
import { READABLE, WRITABLE } from '../person-fields.ts'

const SOURCES = new Set([
  'READ_SOURCE_TYPE_CONTACT',
  'READ_SOURCE_TYPE_PROFILE',
  'READ_SOURCE_TYPE_DOMAIN_CONTACT',
  'READ_SOURCE_TYPE_OTHER_CONTACT',
])

/** The fields that a call wants to read. */
export function personFieldsIn(query: URLSearchParams, fallback: readonly string[] | null = null): string[] {
  requireSources(query)
  const given = namesIn(query.get('personFields'))
  if (given.length === 0 && fallback) return [...fallback]
  if (given.length === 0)
    throw invalidArgument('personFields mask is required. Please specify one or more valid paths.')
  requireKnown(given, READABLE, 'personFields')
  return given
}

/** The fields that a change replaces. */
export function updatedFieldsIn(query: URLSearchParams): string[] {
  const given = namesIn(query.get('updatePersonFields'))
  if (given.length === 0)
    throw invalidArgument('updatePersonFields mask is required. Please specify one or more valid paths.')
  requireKnown(given, new Set(Object.keys(WRITABLE)), 'updatePersonFields')
  return given
}

function requireKnown(given: readonly string[], known: ReadonlySet<string>, mask: string): void {
  for (const name of given)
    if (!known.has(name)) throw invalidArgument(`Invalid ${mask} mask path: "${name}".`)
}

function requireSources(query: URLSearchParams): void {
  for (const source of query.getAll('sources'))
    if (!SOURCES.has(source)) throw invalidArgument(`Invalid value at 'sources' (${source})`)
}

const namesIn = (text: string | null): string[] => [
  ...new Set((text ?? '').split(',').flatMap(name => name.trim() || [])),
]
