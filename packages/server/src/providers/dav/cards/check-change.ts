import type { ContactChange } from '../../contacts.ts'
import { toNumber } from './read-card.ts'
import { toName, toNotes } from '../../contact-text.ts'

/** A change that cannot be written into a card. The message names the field. */
export class UnwritableCard extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'UnwritableCard'
  }
}

const NAMES = [
  'displayName',
  'givenName',
  'middleName',
  'familyName',
  'nickname',
  'organization',
  'jobTitle',
  'department',
] as const
/** Line separators end a line for some readers, so they are line breaks everywhere. */
const LINE_BREAKS = /\r\n|[\r\n\u0085\u2028\u2029]/g
const CONTROL = /[\p{Cc}\u2028\u2029]/u

/**
 * The change as it will be read: texts without blanks at their ends, blank ones as null, line breaks of notes as `\n`.
 * @throws UnwritableCard for a value that no card can hold
 */
export function checkChange(change: ContactChange): ContactChange {
  const checked: { -readonly [Field in keyof ContactChange]: ContactChange[Field] } = {}
  for (const field of NAMES) {
    const value = change[field]
    if (value !== undefined) checked[field] = value === null ? null : checkName(field, value)
  }
  if (change.emails) {
    checked.emails = change.emails.map(({ address, type }) => ({
      address: requireValue('emails', checkName('emails', address)),
      type,
    }))
  }
  if (change.phones) {
    checked.phones = change.phones.map(({ number, type }) => ({
      number: requireValue('phones', toNumber(checkName('phones', number) ?? '')),
      type,
    }))
  }
  if (change.birthday !== undefined) checked.birthday = change.birthday
  if (change.notes !== undefined) checked.notes = change.notes === null ? null : checkNotes(change.notes)
  return checked
}

function checkName(field: string, value: string): string | null {
  if (CONTROL.test(value)) throw new UnwritableCard(`${field} has a control character`)
  return requireWhole(field, value.trim(), toName)
}

function checkNotes(value: string): string | null {
  const lines = value.replaceAll(LINE_BREAKS, '\n')
  if (CONTROL.test(lines.replaceAll('\n', ''))) throw new UnwritableCard('notes has a control character')
  return requireWhole('notes', lines, toNotes)
}

function requireWhole(field: string, value: string, read: (text: string) => string | null): string | null {
  const text = read(value)
  if (text !== null && text !== value) throw new UnwritableCard(`${field} is too long, or no text`)
  return text
}

function requireValue(field: string, value: string | null): string {
  if (value === null) throw new UnwritableCard(`${field} has an empty value`)
  return value
}
