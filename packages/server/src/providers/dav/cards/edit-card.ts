import { isDeepStrictEqual } from 'node:util'
import { FileRefused } from '../../../kit/content-lines/content-file.ts'
import { LineRefused, printLine } from '../../../kit/content-lines/print-line.ts'
import { rewriteFile } from '../../../kit/content-lines/rewrite-file.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { escapeText, unescapeText } from '../../../kit/content-lines/text-value.ts'
import type { ContactChange, ContactFields, EmailType, PhoneType } from '../../contacts.ts'
import { type Card, openCard } from './card.ts'
import { noEdits } from './card-edits.ts'
import { checkChange, UnwritableCard } from './check-change.ts'
import { editBirthday, editNames, editText } from './edit-names.ts'
import { editValues, type ListProperty } from './edit-values.ts'
import { emailsOf, phonesOf, readDisplayName, readFields } from './read-card.ts'
import { toNotes } from '../../contact-text.ts'
import { makeDisplayName } from './text.ts'
import { EMAIL_TYPES, PHONE_TYPES } from './value-types.ts'

const EMAILS: ListProperty<EmailType> = { name: 'EMAIL', words: EMAIL_TYPES, compared: comparedAddress }
const PHONES: ListProperty<PhoneType> = {
  name: 'TEL',
  words: PHONE_TYPES,
  compared: number => number.replaceAll(/[\s().\-/]/g, '') || number,
}

/**
 * Changes fields of the first card of a file. Only the lines of the named fields differ, and of those only the ones
 * whose field has another value; what is not shown of a field is kept. Lists are replaced by value. A display name of
 * null is written as the made name.
 * @throws UnreadableCard if the file has no card
 * @throws UnwritableCard if a value cannot be written so that it is read as it was given
 */
export function editCard(bytes: Buffer, change: ContactChange): Buffer {
  const card = openCard(bytes)
  const wanted = checkChange(change)
  const current = readFields(card)
  const next = applyChange(card, current, wanted)
  const edits = noEdits()
  editNames(card, edits, wanted, next)
  if (wanted.emails && !isDeepStrictEqual(wanted.emails, current.emails))
    editValues(card, edits, EMAILS, emailsOf(card), toValues(wanted.emails, 'address'))
  if (wanted.phones && !isDeepStrictEqual(wanted.phones, current.phones))
    editValues(card, edits, PHONES, phonesOf(card), toValues(wanted.phones, 'number'))
  if (wanted.birthday !== undefined) editBirthday(card, edits, wanted.birthday, current.birthday)
  editText(card, edits, 'NOTE', wanted.notes, value => toNotes(unescapeText(value)))
  return refusing(() => {
    const inserting = new Map([[card.end, edits.adding]])
    const written = rewriteFile(card.file, { replacing: edits.replacing, inserting })
    if (!isDeepStrictEqual(readFields(openCard(written)), next))
      throw new UnwritableCard('The card would not be read as it was meant')
    return written
  })
}

/**
 * A card of a new contact.
 * @param uid is read again as it is given
 * @throws UnwritableCard if a value cannot be written
 */
export function newCard(fields: ContactFields, uid: string, options: { version: '3.0' | '4.0' }): Buffer {
  const empty = refusing(() => {
    const id = printLine({ rawName: 'UID', parameters: [], value: escapeText(uid) }, '\r\n')
    const lines = [`BEGIN:VCARD\r\nVERSION:${options.version}\r\n`, id, 'FN:\r\nN:;;;;\r\nEND:VCARD\r\n']
    return Buffer.concat(lines.map(line => Buffer.from(line)))
  })
  return editCard(empty, fields)
}

function toValues<Key extends string, Type extends string>(
  values: ReadonlyArray<Record<Key, string> & { type: Type }>,
  key: Key,
): Array<{ value: string; type: Type }> {
  return values.map(each => ({ value: each[key], type: each.type }))
}

/** The fields as they will be read. */
function applyChange(card: Card, current: ContactFields, change: ContactChange): ContactFields {
  const next = { ...current, ...change }
  const displayName = change.displayName === undefined ? readDisplayName(card) : change.displayName
  return { ...next, displayName: displayName ?? makeDisplayName(next) }
}

/** Work of the line editor, whose refusals are those of the card. */
function refusing<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof LineRefused || error instanceof FileRefused)
      throw new UnwritableCard(error.message, { cause: error })
    throw error
  }
}
