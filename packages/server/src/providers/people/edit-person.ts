import { isDeepStrictEqual } from 'node:util'
import { toName } from '../contact-text.ts'
import type { ContactChange, ContactFields } from '../contacts.ts'
import { ProviderFailure } from '../failure.ts'
import { emailTypeOf, fieldsOf, type Person, phoneTypeOf, shownOf } from './person.ts'

/** The fields of a person to write, and the names of those that are replaced by them. */
export interface PersonEdit {
  mask: string[]
  fields: Record<string, readonly object[]>
}

/** The person that a new contact is made of. */
export const NOBODY: Person = {
  resourceName: 'people/new',
  metadata: { sources: [] },
  names: [],
  nicknames: [],
  organizations: [],
  emailAddresses: [],
  phoneNumbers: [],
  birthdays: [],
  biographies: [],
  photos: [],
}

type Item = Record<string, unknown>

/**
 * Plans a change of a person. A list replaces the whole field and keeps the values that stay as they are, with labels, types
 * of their own and metadata; so does a text with the rest of its value. Values that the interface does not show stay. Throws
 * `unsupported` for names that Google cannot hold.
 */
export function editPerson(person: Person, change: ContactChange): PersonEdit {
  const before = fieldsOf(person)
  const differs = (...names: ReadonlyArray<keyof ContactFields>) =>
    names.some(name => change[name] !== undefined && change[name] !== before[name])
  const fields: Record<string, readonly object[]> = {}
  if (differs('displayName', 'givenName', 'middleName', 'familyName'))
    fields['names'] = namesOf(person, change)
  if (differs('nickname'))
    fields['nicknames'] = [
      ...(change.nickname === null ? [] : [{ ...person.nicknames[0], value: change.nickname }]),
      ...person.nicknames.slice(1),
    ]
  if (differs('organization', 'jobTitle', 'department'))
    fields['organizations'] = organizationsOf(person, change)
  if (change.emails && !isDeepStrictEqual(change.emails, before.emails))
    fields['emailAddresses'] = listOf(
      change.emails.map(({ address, type }) => ({ value: address, type })),
      person.emailAddresses,
      (item, type) => emailTypeOf(item) === type,
    )
  if (change.phones && !isDeepStrictEqual(change.phones, before.phones))
    fields['phoneNumbers'] = listOf(
      change.phones.map(({ number, type }) => ({ value: number, type: type === 'fax' ? 'otherFax' : type })),
      person.phoneNumbers,
      (item, type) => phoneTypeOf(item) === phoneTypeOf(type),
    )
  if (differs('birthday')) fields['birthdays'] = birthdaysOf(change.birthday ?? null)
  if (differs('notes'))
    fields['biographies'] = change.notes === null ? [] : [{ value: change.notes, contentType: 'TEXT_PLAIN' }]
  return { mask: Object.keys(fields), fields }
}

const PARTS = ['givenName', 'middleName', 'familyName'] as const
const OTHER_PARTS = ['honorificPrefix', 'honorificSuffix'] as const

/**
 * The display name is the free form of a name, which is stored beside its parts if both are written. Google makes one of
 * them if only the other is written: so a display name cannot stand without any part.
 */
function namesOf({ names: [name] }: Person, change: ContactChange): readonly object[] {
  const { displayName: _made, displayNameLastFirst: _turned, ...kept } = (name ?? {}) as Item
  const next: Item = { ...kept }
  for (const part of PARTS) if (change[part] !== undefined) setOrDelete(next, part, change[part])
  if (change.displayName !== undefined) setOrDelete(next, 'unstructuredName', change.displayName)
  else if (next['unstructuredName'] === undefined)
    setOrDelete(next, 'unstructuredName', name?.displayName ?? null)
  const hasParts = [...PARTS, ...OTHER_PARTS].some(part => next[part])
  if (!hasParts && !next['unstructuredName']) return []
  const clears = PARTS.some(part => change[part] === null && name?.[part])
  if (clears && !hasParts)
    throw new ProviderFailure(
      'unsupported',
      'Google makes the parts of a name from the display name. Clear that as well, or keep a part.',
      { isBeforeAcceptance: true },
    )
  return [next]
}

function organizationsOf(
  { organizations: [first, ...others] }: Person,
  change: ContactChange,
): readonly object[] {
  const next: Item = { ...first }
  const { organization, jobTitle, department } = change
  if (organization !== undefined) setOrDelete(next, 'name', organization)
  if (jobTitle !== undefined) setOrDelete(next, 'title', jobTitle)
  if (department !== undefined) setOrDelete(next, 'department', department)
  const says = Object.keys(next).some(key => !SILENT.has(key))
  return says ? [next, ...others] : others
}

/** Properties of an organization that mean nothing alone. */
const SILENT = new Set(['metadata', 'type', 'formattedType', 'current'])

/** Values of a list, each with everything that the item of the same value has. Its type stays if it reads as the wanted one. */
function listOf(
  wanted: ReadonlyArray<{ value: string; type: string }>,
  held: ReadonlyArray<Person['emailAddresses'][number]>,
  isOfType: (type: string | null | undefined, wanted: string) => boolean,
): readonly object[] {
  const shown = shownOf(held)
  const free = new Set(shown)
  const next = wanted.map(({ value, type }) => {
    const same = [...free].filter(item => toName(item.value ?? '') === value)
    const found = same.find(item => isOfType(item.type, type)) ?? same[0]
    if (!found) return { value, type }
    free.delete(found)
    if (isOfType(found.type, type)) return found
    const { formattedType: _label, ...others } = found as Item
    return { ...others, type }
  })
  return [...next, ...held.filter(item => !shown.includes(item))]
}

function birthdaysOf(birthday: string | null): readonly object[] {
  const [, year = '', month = '', day = ''] = /^(\d{4}|-)-(\d{2})-(\d{2})$/.exec(birthday ?? '') ?? []
  if (month === '') return []
  return [{ date: { ...(year !== '-' && { year: Number(year) }), month: Number(month), day: Number(day) } }]
}

function setOrDelete(item: Item, name: string, value: string | null): void {
  if (value === null) delete item[name]
  else item[name] = value
}
