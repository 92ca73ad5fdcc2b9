import type { Classification } from '@waxwing/contract/mail/messages.ts'
import type { MessageOutline } from '../../../kit/mime/outline.ts'
import { findReturnDate } from './dates.ts'
import { LANGUAGES, type Language } from './languages.ts'

/** Rules for replies of programs. */

export type AutoReplyCategory = NonNullable<Classification['autoReplyCategory']>

const SENTENCES_MAX = 200

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

/**
 * Whether a program declares that it replied by itself (RFC 3834 section 5, and fields of autoresponders), or the
 * subject is typical of an automatic reply. Behind `Re:`, a person may have replied to one.
 */
export function isAutomatic({ fields }: Pick<MessageOutline, 'fields'>, text: string): boolean {
  const subject = subjectOf(fields)
  return (
    AUTOMATIC_SUBJECT.test(subject) ||
    ABSENCE_SUBJECT.test(subject) ||
    (COMMON_SUBJECT.test(subject) && OUT_OF_OFFICE.test(flatten(text))) ||
    fields.some(([name, value]) => {
      if (name === 'auto-submitted') return /^\s*auto-/i.test(value)
      if (name === 'precedence') return /^\s*auto[-_]?reply/i.test(value)
      return AUTOMATIC_FIELDS.has(name) && !/^\s*(?:no|false|0)\s*$/i.test(value)
    })
  )
}

export function subjectOf(fields: MessageOutline['fields']): string {
  return fields.find(([name]) => name === 'subject')?.[1].trim() ?? ''
}

type Part = {
  [name in keyof Language]: Language[name] extends string ? name : never
}[keyof Language]

const joined = (part: Part) => LANGUAGES.map(language => language[part]).join('|')

/** Words at the beginning of a subject, followed by the subject of the message, or by nothing. */
const subjectOfWords = (part: Part) =>
  new RegExp(String.raw`^\[?(?:${joined(part)})(?:\s*[\]:(–—-]|\s*$)`, 'iu')
const wordsOf = (words: string) => new RegExp(String.raw`(?<![\p{L}])(?:${words})`, 'iu')

const AUTOMATIC_SUBJECT = subjectOfWords('automaticSubjects')
const ABSENCE_SUBJECT = subjectOfWords('absenceSubjects')
const COMMON_SUBJECT = subjectOfWords('commonSubjects')
const OUT_OF_OFFICE = wordsOf(joined('outOfOffice'))
const LEFT_COMPANY = wordsOf(joined('leftCompany'))
const ADDRESS_CHANGED = wordsOf(joined('addressChanged'))
const ACKNOWLEDGEMENT = wordsOf(joined('acknowledgement'))

/** The category of an automatic reply, by its text before its subject. */
export function categoryOf(
  { fields }: Pick<MessageOutline, 'fields'>,
  text: string,
  receivedAt: Date,
): AutoReplyCategory {
  const subject = subjectOf(fields)
  const flat = flatten(text)
  const isAway = OUT_OF_OFFICE.test(flat)
  if (LEFT_COMPANY.test(flat) && !(isAway && isOfColleague(text, receivedAt))) return 'left_company'
  if (ADDRESS_CHANGED.test(flat)) return 'address_changed'
  if (isAway || ABSENCE_SUBJECT.test(subject)) return 'out_of_office'
  if (ACKNOWLEDGEMENT.test(flat)) return 'acknowledgement'
  return COMMON_SUBJECT.test(subject) ? 'out_of_office' : 'other'
}

function flatten(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}

const AUTHORS = LANGUAGES.map(({ firstPerson, leftCompany, outOfOffice }) => ({
  author: new RegExp(String.raw`(?<!\p{L})(?:${firstPerson})(?!\p{L})`, 'iu'),
  left: new RegExp(String.raw`(?<!\p{L})(?:${leftCompany})\p{L}*`, 'iu'),
  away: wordsOf(outOfOffice),
}))

/**
 * Whether a text about an absent author and a person who left means a colleague by the latter: the author does not
 * claim to have left, and will be back or claims to be away.
 */
function isOfColleague(text: string, receivedAt: Date): boolean {
  const sentences = text.split(/[.!?;]+\s+|\n\s*\n/, SENTENCES_MAX).map(flatten)
  const hasLeft = sentences.some(sentence =>
    AUTHORS.some(({ author, left }) => {
      const match = left.exec(sentence)
      return match !== null && author.test(sentence.slice(0, match.index + match[0].length))
    }),
  )
  if (hasLeft) return false
  return (
    findReturnDate(text, receivedAt) !== null ||
    sentences.some(sentence =>
      AUTHORS.some(
        ({ author, left, away }) => away.test(sentence) && author.test(sentence) && !left.test(sentence),
      ),
    )
  )
}
