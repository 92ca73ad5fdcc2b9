import { describe, expect, test } from 'vitest'
import { CONTACT_VALUES_MAX, type ContactChange, type ContactFields } from '../../src/providers/contacts.ts'
import { editCard } from '../../src/providers/dav/cards/edit-card.ts'
import { readCard } from '../../src/providers/dav/cards/read-card.ts'
import { ODD_CARDS } from './odd-cards.ts'
import { ownLines } from './own-lines.ts'

/** The properties whose lines may differ after a change of a field. */
const LINES: Readonly<Record<keyof ContactFields, readonly string[]>> = {
  displayName: ['FN'],
  givenName: ['N'],
  middleName: ['N'],
  familyName: ['N'],
  nickname: ['NICKNAME'],
  organization: ['ORG'],
  department: ['ORG'],
  jobTitle: ['TITLE'],
  emails: ['EMAIL', 'X-ABLABEL'],
  phones: ['TEL', 'X-ABLABEL'],
  birthday: ['BDAY'],
  notes: ['NOTE'],
}

const TEXTS = ['New', 'Ne,w; \\n \\ "q": ^x', 'Ünï 👩‍👩‍👧‍👦 '.repeat(12).trim(), 'BEGIN:VCARD', '=0D=0A', null]

/** Lists in place of the one that a card has. */
function listsInsteadOf<Item>(items: readonly Item[], added: Item, retyped: (item: Item) => Item): Item[][] {
  const some = items.slice(0, CONTACT_VALUES_MAX - 1)
  return [
    [],
    [added],
    [...some, added],
    [added, ...some],
    some.toReversed(),
    some.slice(1),
    some.map(retyped),
  ]
}

function patchesOf({ emails, phones }: ContactFields): ContactChange[] {
  const texts = Object.keys(LINES).filter(field => !['emails', 'phones', 'birthday'].includes(field))
  const notes = ['one\ntwo\n\n three', `${'\n'.repeat(80)}x`, `${' '.repeat(90)}TEL:666`]
  const emailLists = listsInsteadOf<ContactFields['emails'][number]>(
    emails,
    { address: 'neu+x@exämple.org', type: 'work' },
    ({ address, type }) => ({ address: address.toUpperCase(), type: type === 'work' ? 'home' : 'work' }),
  )
  const phoneLists = [
    ...listsInsteadOf<ContactFields['phones'][number]>(
      phones,
      { number: '+1 (5) 5,,9;3#', type: 'fax' },
      ({ number, type }) => ({ number, type: type === 'mobile' ? 'home' : 'mobile' }),
    ),
    phones
      .slice(0, CONTACT_VALUES_MAX)
      .map(({ number }) => ({ number: `0${number}`, type: 'other' as const })),
  ]
  return [
    ...texts.flatMap(field => TEXTS.map((text): ContactChange => ({ [field]: text }))),
    ...notes.map(text => ({ notes: text })),
    ...['1985-04-12', '--02-29', '2000-12-31', null].map(birthday => ({ birthday })),
    ...emailLists.map(list => ({ emails: list })),
    ...phoneLists.map(list => ({ phones: list })),
  ]
}

/** Without the last line ending, which a file may lack. */
const otherLines = (file: Buffer, field: keyof ContactFields) =>
  ownLines(file)
    .filter(({ name }) => !LINES[field].includes(name))
    .map(({ bytes }, index, { length }) => (index === length - 1 ? bytes.trimEnd() : bytes))
    .join('')

describe('each field of each odd card', () => {
  test.each(Object.entries(ODD_CARDS))('changes only its own lines: %s', (_, bytes) => {
    const before = readCard(bytes)
    const hasName = ownLines(bytes).some(({ name, bytes: line }) => name === 'FN' && /:\s*\S/.test(line))
    for (const change of patchesOf(before.fields)) {
      const [field, wanted] = Object.entries(change)[0] as [keyof ContactFields, unknown]
      const written = editCard(bytes, change)
      const after = readCard(written)
      const { displayName } = after.fields
      // A name is made if there is none.
      const made = field === 'displayName' ? wanted === null : !hasName
      const fields = { ...before.fields, [field]: wanted, ...(made ? { displayName } : {}) }
      expect({ ...after, lines: otherLines(written, field), change }).toEqual({
        ...before,
        fields,
        lines: otherLines(bytes, field),
        change,
      })
    }
  })

  test.each(Object.entries(ODD_CARDS))('stays byte for byte with the values that it has: %s', (_, bytes) => {
    const { displayName: _name, ...fields } = readCard(bytes).fields
    expect(editCard(bytes, {}).toString('latin1')).toBe(bytes.toString('latin1'))
    expect(editCard(bytes, fields).toString('latin1')).toBe(bytes.toString('latin1'))
  })

  test.each(Object.entries(ODD_CARDS))('takes all changes at once: %s', (_, bytes) => {
    const fields: ContactFields = {
      displayName: 'D',
      givenName: 'G',
      middleName: null,
      familyName: 'F, F',
      nickname: null,
      organization: 'O;O',
      jobTitle: 'J',
      department: null,
      emails: [{ address: 'x@y.example', type: 'home' }],
      phones: [{ number: '1', type: 'main' }],
      birthday: '--12-31',
      notes: 'a\nb',
    }
    expect(readCard(editCard(bytes, fields)).fields).toEqual(fields)
  })
})
