import { explain } from '../command-error.ts'

export const CHECKS = [
  'settings',
  'service',
  'data folder',
  'database',
  'blobs',
  'accounts',
  'search',
  'calendars',
  'OAuth apps',
  'clock',
  'sealing key',
  'base URL',
  'links',
  'pushes',
  'egress',
  'sending',
] as const

/** The result of one check. */
export interface Finding {
  check: (typeof CHECKS)[number]
  state: 'ok' | 'warning' | 'wrong'
  message: string
  /** The remedy; null if there is nothing to do, or if the message has it. */
  remedy: string | null
}

type Check = Finding['check']

export function ok(check: Check, message: string): Finding {
  return { check, state: 'ok', message, remedy: null }
}

export function warning(check: Check, message: string, remedy: string | null = null): Finding {
  return { check, state: 'warning', message, remedy }
}

export function wrong(check: Check, message: string, remedy: string | null = null): Finding {
  return { check, state: 'wrong', message, remedy }
}

/** Describes an error in words and without secrets. */
export function wordsOf(error: unknown): string {
  const text = explain(error)
  // The rest of an unexpected error shows where in the program it happened.
  const [first = text] = text.split('\n')
  return text.includes('\n    at ') ? first.replace(/^\w*Error: /, '') : text
}
