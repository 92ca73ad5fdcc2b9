import type { Classification } from '@waxwing/contract/mail/messages.ts'
import type { MessageOutline } from '../../../kit/mime/outline.ts'
import { findReturnDate } from './dates.ts'
import { LANGUAGES, type Language } from './languages.ts'
import { ownWords } from './own-words.ts'

/** What the rules say of a reply. */
export type Verdict = Pick<
  Classification,
  'kind' | 'probabilities' | 'optOutProbability' | 'autoReplyCategory' | 'returnDate' | 'alternateContacts'
>

export interface Reply {
  outline: Pick<MessageOutline, 'fields' | 'text'>
  receivedAt: Date
  /** Addresses that are no contacts of others: those of the author and of the account. */
  knownAddresses: readonly string[]
}

type Category = NonNullable<Classification['autoReplyCategory']>

/** The probability of an opt-out that is nothing else. */
const OPT_OUT_PROBABILITY = 0.95
const OPT_OUT_LENGTH_MAX = 300
const CONTACTS_MAX = 10
const TEXT_LENGTH_MAX = 8_000

/**
 * Decides what a reply is, from signals that leave no doubt: what programs declare (RFC 3834, and fields of Exchange,
 * Domino and autoresponders), and replies that say nothing but that somebody wants no more mail. Null if they do not
 * decide.
 */
export function classifyReply({ outline, receivedAt, knownAddresses }: Reply): Verdict | null {
  const own = ownWords(outline.text)
  if (isAutomatic(outline)) {
    const text = own.slice(0, TEXT_LENGTH_MAX)
    const category = categoryOf(outline, text)
    const returnDate = category === 'out_of_office' ? findReturnDate(text, receivedAt) : null
    const hasContacts = category !== 'acknowledgement' && category !== 'other'
    return {
      ...verdictOf('auto_reply'),
      autoReplyCategory: category,
      returnDate,
      alternateContacts: hasContacts ? findContacts(text, knownAddresses) : [],
    }
  }
  if (!isOptOut(own)) return null
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

/** Fields that only programs that reply by themselves write. */
const AUTOMATIC_FIELDS = new Set([
  'x-autoreply',
  'x-autorespond',
  'x-autoreply-from',
  'x-autoresponder',
  'x-mail-autoreply',
  'x-auto-reply',
  'x-vacation',
])

function isAutomatic({ fields }: Pick<MessageOutline, 'fields'>): boolean {
  return (
    SUBJECT.test(subjectOf(fields)) ||
    fields.some(([name, value]) => {
      if (name === 'auto-submitted') return /^\s*auto-/i.test(value)
      if (name === 'precedence') return /^\s*auto[-_]?reply/i.test(value)
      // Exchange writes OOF alone; other machines write the field as well, with other values beside OOF.
      if (name === 'x-ms-exchange-inbox-rules-loop') return true
      return AUTOMATIC_FIELDS.has(name) && !/^\s*(?:no|false|0)\s*$/i.test(value)
    })
  )
}

function subjectOf(fields: Reply['outline']['fields']): string {
  return fields.find(([name]) => name === 'subject')?.[1].trim() ?? ''
}

const joined = (part: 'subjects' | 'outOfOffice' | 'leftCompany' | 'addressChanged' | 'acknowledgement') =>
  LANGUAGES.map(language => language[part]).join('|')

/** An automatic subject is followed by that of the message, or by nothing. */
const SUBJECT = new RegExp(
  String.raw`^(?:(?:re|aw|sv|vs|odp)\s*:\s*)?\[?(?:${joined('subjects')})(?:\s*[\]:(–—-]|\s*$)`,
  'iu',
)

/** The first that fits decides: somebody who has left may also be away. */
const CATEGORIES: ReadonlyArray<readonly [category: Category, words: RegExp]> = (
  [
    ['left_company', joined('leftCompany')],
    ['address_changed', joined('addressChanged')],
    ['out_of_office', joined('outOfOffice')],
    ['acknowledgement', joined('acknowledgement')],
  ] as const
).map(([category, words]) => [category, new RegExp(String.raw`(?<![\p{L}])(?:${words})`, 'iu')])

const OUT_OF_OFFICE_SUBJECT = new RegExp(
  `^(?:${LANGUAGES.map(({ outOfOffice }) => outOfOffice).join('|')})`,
  'iu',
)

function categoryOf({ fields }: Pick<MessageOutline, 'fields'>, text: string): Category {
  const flat = text.replaceAll(/\s+/g, ' ')
  const found = CATEGORIES.find(([, words]) => words.test(flat))
  if (found) return found[0]
  return OUT_OF_OFFICE_SUBJECT.test(subjectOf(fields)) ? 'out_of_office' : 'other'
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

const POLITE = String.raw`(?:please|pls|kindly|could you|can you|bitte|s.il (?:vous|te) pla(?:î|i)t|svp|merci de|por favor|per favore|cortesemente|per cortesia|se faz favor|alstublieft|a\.?u\.?b\.?|graag|prosz(?:ę|e)|v(?:ä|a)nligen|sn(?:ä|a)lla|venligst|v(?:æ|ae)r venlig at|vennligst|pros(?:í|i)m|kiitos)`
const NAME = String.raw`(?:[ ,]+[\p{L}'’.-]{1,30}){0,3}`
const THANKS = String.raw`(?:thanks|thank you|thx|cheers|regards|best|(?:kind |best )regards|sincerely|danke|vielen dank|mfg|(?:mit )?(?:freundlichen|besten|viele) gr(?:ü|ue)(?:ß|ss)en?|merci|cordialement|bien (?:à|a) vous|gracias|saludos|un saludo|grazie|(?:cordiali )?saluti|obrigad[oa]|atenciosamente|bedankt|(?:met )?vriendelijke groet(?:en)?|groet(?:en|jes)?|dzi(?:ę|e)kuj(?:ę|e)|pozdrawiam|tack|mvh|(?:med )?v(?:ä|a)nliga? h(?:ä|a)lsning(?:ar)?|tak|takk|(?:med )?venlig hilsen|(?:med )?vennlig hilsen|hilsen|kiitos|d(?:ě|e)kuji)`
const HELLO = String.raw`(?:hi|hello|hey|dear|good (?:morning|day|afternoon)|hallo|guten tag|sehr geehrte[rs]?|bonjour|salut|hola|buenos d(?:í|i)as|ciao|buongiorno|ol(?:á|a)|bom dia|beste|geachte|dzie(?:ń|n) dobry|hej|cze(?:ść|sc)|hei|moi|dobr(?:ý|y) den)`

const OPT_OUT = new RegExp(
  String.raw`^(?:${POLITE}[, ]*)?(?:${LANGUAGES.map(({ optOuts }: Language) => optOuts).join('|')})(?:[, ]*${POLITE})?(?:[, ]+${THANKS})?$`,
  'iu',
)
const GREETING = new RegExp(`^${HELLO}(?: (?:team|all|there))?${NAME}$`, 'iu')
const CLOSING = new RegExp(`^${THANKS}${NAME}$`, 'iu')
const NAME_LINE = /^[\p{L}'’.-]{1,30}(?: [\p{L}'’.-]{1,30}){0,2}$/u

/** Whether the words are nothing but an opt-out, with a greeting before it and a closing and a name behind it. */
function isOptOut(own: string): boolean {
  if (own.length > OPT_OUT_LENGTH_MAX) return false
  const sentences = own
    .normalize('NFC')
    .split(/[.!?\n;]+/)
    .map(sentence =>
      sentence
        .replaceAll(/[*_"'“”„«»()]/g, '')
        .replaceAll(/\s+/g, ' ')
        .replace(/[,:\s]+$/, '')
        .trim(),
    )
    .filter(sentence => sentence !== '')
  let hasAsked = false
  let hasClosed = false
  for (const sentence of sentences) {
    if (OPT_OUT.test(sentence)) hasAsked = true
    else if (CLOSING.test(sentence)) hasClosed = true
    else if (GREETING.test(sentence) && !hasAsked) continue
    else if (!(hasClosed && hasAsked && NAME_LINE.test(sentence))) return false
  }
  return hasAsked
}
