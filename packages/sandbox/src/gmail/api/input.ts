import type { Mailbox } from '../mailbox/mailbox.ts'
import type { MethodCall } from './method.ts'
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

/** The message of a call: what was uploaded, or `raw` of the body. */
export function messageIn(call: MethodCall, message: Record<string, unknown>): Buffer {
  if (call.media) return call.media
  const raw = stringIn(message, 'raw')
  if (!raw)
    throw invalidArgument(
      "'raw' RFC822 payload message string or uploading message via /upload/* URL required",
    )
  if (!/^[A-Za-z0-9_+/-]*={0,2}$/.test(raw))
    throw invalidArgument(
      `Invalid value at 'message.raw' (TYPE_BYTES), Base64 decoding failed for "${raw.slice(0, 40)}"`,
    )
  return Buffer.from(raw, 'base64url')
}

const LABEL_CHANGES_MAX = 100

/** The labels to add and to remove, all of which exist. */
export function labelChangesIn(
  mailbox: Mailbox,
  body: Record<string, unknown>,
): { add: string[]; remove: string[] } {
  const add = stringsIn(body, 'addLabelIds')
  const remove = stringsIn(body, 'removeLabelIds')
  if (add.length + remove.length === 0) throw invalidArgument('No label add or removes specified')
  if (add.length > LABEL_CHANGES_MAX || remove.length > LABEL_CHANGES_MAX)
    throw invalidArgument(`Too many labels: at most ${LABEL_CHANGES_MAX} can be added or removed`)
  requireLabels(mailbox, [...add, ...remove])
  if (add.some(label => remove.includes(label)))
    throw invalidArgument('Cannot both add and remove the same label')
  return { add, remove }
}

export function requireLabels(mailbox: Mailbox, labels: string[]): void {
  for (const label of labels) if (!mailbox.labels.has(label)) throw invalidArgument(`Invalid label: ${label}`)
}
