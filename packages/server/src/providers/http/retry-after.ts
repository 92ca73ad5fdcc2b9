import type { AnswerHeaders } from './exchange.ts'

/** A provider that demands a longer pause is called again after this one. */
const SECONDS_MAX = 24 * 3600

/** The pause that an answer demands (RFC 9110 section 10.2.3), in whole seconds; null if it names none. */
export function retryAfterSeconds(headers: AnswerHeaders, now: number): number | null {
  const value = headers['retry-after']
  if (typeof value !== 'string') return null
  const seconds = /^\d{1,9}$/.test(value.trim())
    ? Number(value)
    : Math.ceil((Date.parse(value) - now) / 1_000)
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 0), SECONDS_MAX)
}
