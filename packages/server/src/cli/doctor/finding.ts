import { explain } from '../command-error.ts'

export const CHECKS = [
  'settings',
  'service',
  'data folder',
  'database',
  'accounts',
  'search',
  'clock',
  'sealing key',
  'base URL',
  'egress',
] as const

/** What one check came to. */
export interface Finding {
  check: (typeof CHECKS)[number]
  state: 'ok' | 'warning' | 'wrong'
  message: string
  /** What to do about it; null where nothing is to be done, or the message says it. */
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

/** What went wrong, in words and without a secret. */
export function wordsOf(error: unknown): string {
  const text = explain(error)
  // Of an error that was not foreseen, the rest says where in the program it happened.
  const [first = text] = text.split('\n')
  return text.includes('\n    at ') ? first.replace(/^\w*Error: /, '') : text
}
