import type { Classification } from '@waxwing/contract/mail/messages.ts'
import type { MessageOutline } from '../../../kit/mime/outline.ts'
import { categoryOf, isAutomatic, subjectOf } from './automatic.ts'
import { findReturnDate } from './dates.ts'
import { isOptOut } from './opt-out.ts'
import { ownWords } from './own-words.ts'

/** The result of the rules for a reply. */
export type Verdict = Pick<
  Classification,
  'kind' | 'probabilities' | 'optOutProbability' | 'autoReplyCategory' | 'returnDate' | 'alternateContacts'
>

export interface Reply {
  outline: Pick<MessageOutline, 'fields' | 'text'>
  receivedAt: Date
  /** The addresses of the author and of the account, which are no contacts of others. */
  knownAddresses: readonly string[]
}

/** The probability of an opt-out that is nothing else. */
const OPT_OUT_PROBABILITY = 0.95
const CONTACTS_MAX = 10
const TEXT_LENGTH_MAX = 8_000

/**
 * Decides the kind of a reply from signals that leave no doubt: declarations of programs (RFC 3834, and fields and
 * subjects of Exchange, Domino and autoresponders), and replies whose only content is that the author wants no more
 * mail. Null if they do not decide.
 */
export function classifyReply({ outline, receivedAt, knownAddresses }: Reply): Verdict | null {
  const own = ownWords(outline.text)
  const text = own.slice(0, TEXT_LENGTH_MAX)
  if (isAutomatic(outline, text)) {
    const category = categoryOf(outline, text, receivedAt)
    const returnDate = category === 'out_of_office' ? findReturnDate(text, receivedAt) : null
    const hasContacts = category !== 'acknowledgement' && category !== 'other'
    return {
      ...verdictOf('auto_reply'),
      autoReplyCategory: category,
      returnDate,
      alternateContacts: hasContacts ? findContacts(text, knownAddresses) : [],
    }
  }
  // A subject counts as well that is no longer that of the message, with a text that adds nothing.
  if (!isOptOut(own) && !isOptOut(`${subjectOf(outline.fields)}\n${own}`)) return null
  return {
    ...verdictOf('opt_out'),
    probabilities: { opt_out: OPT_OUT_PROBABILITY },
    optOutProbability: OPT_OUT_PROBABILITY,
  }
}

/** A verdict of the rules that is certain. */
export function verdictOf(kind: Verdict['kind']): Verdict {
  return {
    kind,
    probabilities: { [kind]: 1 },
    optOutProbability: 0,
    autoReplyCategory: null,
    returnDate: null,
    alternateContacts: [],
  }
}

const ADDRESS = /[\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}.-]{1,190}\.[\p{L}]{2,24}(?![\p{L}\p{N}])/gu
const NO_CONTACT = /^(?:no-?reply|do-?not-?reply|mailer-daemon|postmaster)@/i

function findContacts(text: string, known: readonly string[]): string[] {
  const own = new Set(known.map(address => address.toLowerCase()))
  const found = new Map<string, string>()
  for (const [address] of text.matchAll(ADDRESS)) {
    const lower = address.toLowerCase()
    if (!own.has(lower) && !NO_CONTACT.test(lower) && !found.has(lower)) found.set(lower, address)
  }
  return [...found.values()].slice(0, CONTACTS_MAX)
}
