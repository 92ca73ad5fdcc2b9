import { type Names, withoutNames } from './names.ts'
import { ABOUT_SENDER, DISABLED, FULL_OR_REFUSED, HINTS_OF_REFUSAL, UNKNOWN_RECIPIENT } from './phrases.ts'

/** `hard`: the address will not take mail. `soft`: it may, another time or another message. */
export type BounceType = 'hard' | 'soft'

export interface Judgement {
  type: BounceType
  /** Enhanced status code (RFC 3463). */
  status: string
  /** Whether the address does not exist, so that nothing is to be sent to it any more. */
  suppresses: boolean
}

export interface Failure extends Names {
  status: string | null
  diagnostic: string
  isOwn?: boolean
}

/** The address does not exist, or cannot: RFC 3463 section 3.2, RFC 7505 and the registry of RFC 5248. */
const NO_SUCH_ADDRESS = new Set(['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10'])
/** It exists or may exist, but takes nothing: disabled (5.2.1), no route (5.4.4). */
const CLOSED = new Set(['5.2.1', '5.4.4'])
const ENHANCED = /(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})(?![\d.])/g
/** Codes that report a failure without details. */
const EMPTY = /^[45]\.0\.0$/
/**
 * Codes that leave the cause to the words: codes without detail, codes that Exchange Online wraps around the code of
 * another server, and its 5.4.1, which the registry has for something else. Words do not make a temporary failure
 * permanent.
 */
const VAGUE = /^(?:4\.0\.0|5\.(?:\d\.0|0\.\d+|1\.\d{3}|4\.1))$/
/** Something about an address: the recipient's, unless the words are about the sender. */
const SOME_ADDRESS = '5.1.0'
const REPLY_CODE = /(?<![\d.])([45])\d\d(?=[\s:;,-]|$)/
const LINK = /\b(?:https?:\/\/|www\.)[^\s<>"]{1,500}/gi

/**
 * Decides about a recipient that failed, from the status that the report names and the words of the server that
 * refused. Words decide before a code if they blame the message, its sender or a full mailbox. Otherwise a specific
 * code decides, and words decide if the code is vague or missing. Words that are not about the recipient (`isOwn`) are
 * no proof that the address does not exist.
 */
export function judge({ status, diagnostic, isOwn = true, ...names }: Failure): Judgement {
  const words = withoutNames(diagnostic, names)
  const codes = [status ?? '', words].flatMap(text => text.match(ENHANCED) ?? [])
  const isRefused = FULL_OR_REFUSED.test(words) || hintsAtRefusal(diagnostic, words, names)
  const isUnknown = !isRefused && UNKNOWN_RECIPIENT.test(words)
  const specific = codes.find(code => !VAGUE.test(code))
  const vague = codes.find(code => !EMPTY.test(code)) ?? codes[0] ?? emptyCodeOf(words)
  const isPermanent = vague.startsWith('5')
  const isDisabled = !isRefused && !isUnknown && DISABLED.test(words)
  const shown = EMPTY.test(vague) && isPermanent ? tellingCode(vague, { isUnknown, isDisabled }) : vague
  const isMissing =
    !isRefused &&
    (specific === undefined
      ? isPermanent && (isUnknown || (vague === SOME_ADDRESS && !blamesSender(diagnostic, words, names)))
      : NO_SUCH_ADDRESS.has(specific))
  const isClosed = !isRefused && (specific === undefined ? isPermanent && isDisabled : CLOSED.has(specific))
  return { type: isMissing || isClosed ? 'hard' : 'soft', status: shown, suppresses: isMissing && isOwn }
}

/** The code that words mean, in place of a vague one. */
function tellingCode(empty: string, words: { isUnknown: boolean; isDisabled: boolean }): string {
  if (words.isUnknown) return '5.1.1'
  return words.isDisabled ? '5.2.1' : empty
}

/**
 * Whether the words have to do with spam and the like. A server that reports a missing user may also explain how it
 * treats spam, and any server may link to such a page.
 */
function hintsAtRefusal(diagnostic: string, words: string, names: Names): boolean {
  if (!HINTS_OF_REFUSAL.test(words) || UNKNOWN_RECIPIENT.test(words)) return false
  return HINTS_OF_REFUSAL.test(withoutNames(diagnostic.replaceAll(LINK, ' '), names))
}

/** Whether a refusal of some address means the sender's. */
function blamesSender(diagnostic: string, words: string, { addresses = [], senders = [] }: Names): boolean {
  const said = diagnostic.toLowerCase()
  const has = (list: readonly string[]) => list.some(address => said.includes(address.toLowerCase()))
  return ABOUT_SENDER.test(words) || (has(senders) && !has(addresses))
}

function emptyCodeOf(words: string): string {
  return `${REPLY_CODE.exec(words)?.[1] ?? '5'}.0.0`
}
