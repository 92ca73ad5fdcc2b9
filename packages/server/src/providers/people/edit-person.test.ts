import { describe, expect, test } from 'vitest'
import type { ContactChange } from '../contacts.ts'
import { editPerson, NOBODY } from './edit-person.ts'
import { contactOf, type Person, readPerson } from './person.ts'

const METADATA = { primary: true, source: { type: 'CONTACT', id: 'a' } }
const personWith = (fields: object): Person =>
  readPerson({
    resourceName: 'people/c1',
    metadata: { sources: [{ type: 'CONTACT', etag: '#1' }] },
    ...fields,
  })

const ADA = personWith({
  names: [
    {
      displayName: 'Ada Lovelace',
      unstructuredName: 'Ada Lovelace',
      givenName: 'Ada',
      familyName: 'Lovelace',
      metadata: METADATA,
    },
  ],
  nicknames: [{ value: 'Countess' }, { value: 'Enchantress' }],
  organizations: [{ name: 'Engines', title: 'Analyst', location: 'London' }, { name: 'Others' }],
  emailAddresses: [
    { value: 'a@example.com', type: 'study', formattedType: 'Study', metadata: METADATA },
    { value: 'b@example.com', type: 'home' },
    { value: 'a@example.com', type: 'work' },
  ],
  phoneNumbers: [{ value: '+1 1', type: 'workMobile', canonicalForm: '+11' }],
  birthdays: [{ date: { year: 1815, month: 12, day: 10 } }],
  biographies: [{ value: 'Notes', contentType: 'TEXT_PLAIN' }],
})

describe('editPerson', () => {
  test.each<[string, ContactChange]>([
    ['nothing', {}],
    [
      'the same texts',
      { displayName: 'Ada Lovelace', jobTitle: 'Analyst', birthday: '1815-12-10', notes: 'Notes' },
    ],
    ['the same list', { phones: [{ number: '+1 1', type: 'mobile' }] }],
  ])('writes no field for %s', (_, change) => {
    expect(editPerson(ADA, change)).toEqual({ mask: [], fields: {} })
  })

  test.each<[string, ContactChange, object]>([
    [
      'the display name when a part changes',
      { givenName: 'Augusta' },
      {
        names: [
          {
            unstructuredName: 'Ada Lovelace',
            givenName: 'Augusta',
            familyName: 'Lovelace',
            metadata: METADATA,
          },
        ],
      },
    ],
    [
      'the parts when the display name changes',
      { displayName: 'A. L.' },
      {
        names: [{ unstructuredName: 'A. L.', givenName: 'Ada', familyName: 'Lovelace', metadata: METADATA }],
      },
    ],
    [
      'no display name that is cleared, so that Google makes one',
      { displayName: null },
      { names: [{ givenName: 'Ada', familyName: 'Lovelace', metadata: METADATA }] },
    ],
    ['other nicknames', { nickname: null }, { nicknames: [{ value: 'Enchantress' }] }],
    [
      'the rest of an organization, and others',
      { organization: null, jobTitle: null },
      { organizations: [{ location: 'London' }, { name: 'Others' }] },
    ],
    [
      'a type that reads as the wanted one, of the value that has it',
      {
        emails: [
          { address: 'a@example.com', type: 'work' },
          { address: 'a@example.com', type: 'other' },
        ],
      },
      { emailAddresses: [ADA.emailAddresses[2], ADA.emailAddresses[0]] },
    ],
    [
      'a value whose type changes, without its former label',
      { emails: [{ address: 'a@example.com', type: 'home' }] },
      { emailAddresses: [{ value: 'a@example.com', type: 'home', metadata: METADATA }] },
    ],
    [
      'a fax of no place',
      { phones: [{ number: '+1 2', type: 'fax' }] },
      { phoneNumbers: [{ value: '+1 2', type: 'otherFax' }] },
    ],
    ['a birthday without a year', { birthday: '--02-29' }, { birthdays: [{ date: { month: 2, day: 29 } }] }],
    [
      'nothing of what is cleared',
      { birthday: null, notes: null, phones: [] },
      { birthdays: [], biographies: [], phoneNumbers: [] },
    ],
  ])('keeps %s', (_, change, fields) => {
    const edit = editPerson(ADA, change)
    expect(edit.fields).toEqual(fields)
    expect(edit.mask.toSorted()).toEqual(Object.keys(fields).toSorted())
  })

  test('drops an organization that says nothing any more', () => {
    const plain = personWith({ organizations: [{ name: 'Engines', type: 'work', metadata: METADATA }] })
    expect(editPerson(plain, { organization: null }).fields).toEqual({ organizations: [] })
  })

  test('refuses to clear all parts of a name whose display name stays, and takes a display name alone for a new contact', () => {
    expect(() => editPerson(ADA, { givenName: null, familyName: null })).toThrow(/display name/)
    expect(editPerson(ADA, { displayName: null, givenName: null, familyName: null }).fields).toEqual({
      names: [],
    })
    expect(editPerson(NOBODY, { displayName: 'Ada', givenName: null }).fields).toEqual({
      names: [{ unstructuredName: 'Ada' }],
    })
  })
})

describe('contactOf', () => {
  test.each([
    [{ year: 0, month: 2, day: 29 }, '--02-29'],
    [{ month: 2, day: 29 }, '--02-29'],
    [{ year: 800, month: 1, day: 1 }, '0800-01-01'],
    [{ year: 2000 }, null],
    [{ year: 2000, month: 13, day: 1 }, null],
  ])('reads the birthday %j as %s', (date, expected) => {
    expect(contactOf(personWith({ birthdays: [{ date }] }))?.fields.birthday).toBe(expected)
  })

  test.each([
    ['https://lh3.googleusercontent.com/contacts/AB=s100', false, '/contacts/AB'],
    ['https://lh3.googleusercontent.com/contacts/AB=s100-c-k', false, '/contacts/AB'],
    ['https://lh3.googleusercontent.com/contacts/AB', true, null],
    ['https://evil.example/contacts/AB=s100', false, null],
    ['http://lh3.googleusercontent.com/contacts/AB', false, null],
    ['https://lh3.googleusercontent.com.evil.example/contacts/AB', false, null],
    ['no URL', false, null],
  ])('takes the photo %s (default: %s) for %s', (url, isDefault, expected) => {
    const photo = contactOf(personWith({ photos: [{ url, default: isDefault }] }))?.photo
    expect(photo).toEqual(expected === null ? { type: 'none' } : { type: 'some', version: expected })
  })

  test('takes a person without a source of contacts for none', () => {
    expect(
      contactOf(readPerson({ resourceName: 'people/c1', metadata: { sources: [{ type: 'PROFILE' }] } })),
    ).toBeNull()
  })
})
