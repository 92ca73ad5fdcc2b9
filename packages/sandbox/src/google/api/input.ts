import { invalidArgument } from './refusal.ts'

/** A whole number of the query, within its bounds. */
export function integerIn(query: URLSearchParams, name: string, fallback: number, max: number): number {
  const text = query.get(name)
  if (text === null) return fallback
  if (!/^\d{1,10}$/.test(text)) throw invalidValue(name, 'TYPE_UINT32', text)
  return Math.min(Math.max(Number(text), 1), max)
}

export function booleanIn(query: URLSearchParams, name: string): boolean {
  const text = query.get(name)
  if (text === null || text === 'false' || text === '0') return false
  if (text === 'true' || text === '1') return true
  throw invalidValue(name, 'TYPE_BOOL', text)
}

/** One of a method's words, in upper case whichever way it was written. */
export function wordIn<T extends string>(
  query: URLSearchParams,
  name: string,
  words: readonly T[],
  fallback: T,
): T {
  const text = query.get(name)
  if (text === null) return fallback
  const found = words.find(word => word.toLowerCase() === text.toLowerCase())
  if (!found) throw invalidValue(name, 'type.googleapis.com/google.protobuf.Enum', text)
  return found
}

const invalidValue = (name: string, type: string, text: string): Error =>
  invalidArgument(`Invalid value at '${name}' (${type}), "${text}"`)

/** A list of strings in the body. */
export function stringsIn(body: Record<string, unknown>, name: string): string[] {
  const value = body[name] ?? []
  if (!Array.isArray(value) || value.some(item => typeof item !== 'string'))
    throw invalidArgument(`Invalid value at '${name}', expected a list of strings`)
  return value as string[]
}

export function stringIn(body: Record<string, unknown>, name: string): string | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw invalidArgument(`Invalid value at '${name}' (TYPE_STRING)`)
  return value
}

export function objectIn(body: Record<string, unknown>, name: string): Record<string, unknown> {
  const value = body[name] ?? {}
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidArgument(`Invalid value at '${name}'`)
  return value as Record<string, unknown>
}
