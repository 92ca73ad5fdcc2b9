import { FULL_OR_REFUSED, UNKNOWN_RECIPIENT } from './phrases.ts'

/** `hard`: the address will not take mail. `soft`: it may, another time or another message. */
export type BounceType = 'hard' | 'soft'

export interface Judgement {
  type: BounceType
  /** Enhanced status code (RFC 3463). */
  status: string
  /** Whether the address does not exist, so that nothing is to be sent to it any more. */
  suppresses: boolean
}

export interface Failure {
  status: string | null
  diagnostic: string
  isOwn?: boolean
}

/** The address does not exist, or cannot: RFC 3463 section 3.2, RFC 7505 and the registry of RFC 5248. */
const NO_SUCH_ADDRESS = new Set(['5.1.0', '5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10'])
/** It exists or may exist, but takes nothing: disabled (5.2.1), no route (5.4.4). */
const CLOSED = new Set(['5.2.1', '5.4.4'])
const ENHANCED = /(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})(?![\d.])/
/** Codes that say only that it failed. */
const VAGUE = /^[45]\.0\.0$/
const REPLY_CODE = /(?<![\d.])([45])\d\d(?=[\s:;,-]|$)/

/**
 * Decides about a recipient that failed, from the status that the report names and the words of the server that refused.
 * The status counts; the words decide where it is missing or vague, and they show what is no fault of the address. Words
 * that are not about the recipient (`isOwn`) do not say that the address does not exist.
 */
export function judge({ status, diagnostic, isOwn = true }: Failure): Judgement {
  const named = ENHANCED.exec(status ?? '')?.[0] ?? null
  const said = ENHANCED.exec(diagnostic)?.[0] ?? null
  const isRefused = FULL_OR_REFUSED.test(diagnostic)
  const isUnknown = !isRefused && UNKNOWN_RECIPIENT.test(diagnostic)
  const specific = [named, said].find(code => code !== null && !VAGUE.test(code))
  const vague = named ?? said ?? vagueOf(diagnostic)
  const code = specific ?? (isUnknown && !vague.startsWith('4') ? '5.1.1' : vague)
  const isMissing = NO_SUCH_ADDRESS.has(code) && !isRefused
  const suppresses = isMissing && isOwn
  const isHard = isMissing || (CLOSED.has(code) && !isRefused)
  return { type: isHard ? 'hard' : 'soft', status: code, suppresses }
}

function vagueOf(diagnostic: string): string {
  return `${REPLY_CODE.exec(diagnostic)?.[1] ?? '5'}.0.0`
}
