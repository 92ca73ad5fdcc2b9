import { z } from 'zod'
import { toName, toNotes } from '../contact-text.ts'
import {
  CONTACT_VALUES_MAX,
  type ContactFields,
  type EmailType,
  type PhoneType,
  type RemoteContact,
  type RemotePhotoState,
} from '../contacts.ts'
import { photoPathOf } from './photo-url.ts'

/** The key of the one folder that holds all contacts of a user. */
export const FOLDER_KEY = 'people/me'
/** A resource name, which is part of a path. */
export const RESOURCE_NAME = /^people\/[A-Za-z0-9_-]{1,200}$/
/** The fields of persons that are read. */
export const FIELDS =
  'names,nicknames,organizations,emailAddresses,phoneNumbers,birthdays,biographies,photos,metadata'

const text = z.string().nullish()
const metadata = z.object({
  deleted: z.boolean().optional(),
  previousResourceNames: z.array(z.string()).max(1_000).optional(),
  sources: z
    .array(z.object({ type: text, id: text, etag: text, updateTime: text }))
    .max(100)
    .default([]),
})
const valued = z.looseObject({ value: text, type: text })

/** Names and state of a person, whatever else it has. */
const namedSchema = z.object({
  resourceName: z.string().regex(RESOURCE_NAME),
  // A person whose state has another form cannot be read, and does not keep others from being read.
  metadata: metadata.catch({ sources: [] }),
})
export type NamedPerson = z.infer<typeof namedSchema>

/** A person as the API answers it. Values keep what the interface does not show, since a list is written as a whole. */
const schema = z.object({
  resourceName: z.string().regex(RESOURCE_NAME),
  etag: text,
  metadata,
  names: z
    .array(
      z.looseObject({
        displayName: text,
        unstructuredName: text,
        givenName: text,
        middleName: text,
        familyName: text,
      }),
    )
    .default([]),
  nicknames: z.array(valued).default([]),
  organizations: z.array(z.looseObject({ name: text, title: text, department: text })).default([]),
  emailAddresses: z.array(valued).default([]),
  phoneNumbers: z.array(valued).default([]),
  birthdays: z
    .array(
      z.looseObject({
        date: z
          .object({ year: z.int().optional(), month: z.int().optional(), day: z.int().optional() })
          .nullish(),
      }),
    )
    .default([]),
  biographies: z.array(z.looseObject({ value: text })).default([]),
  photos: z.array(z.object({ url: text, default: z.boolean().nullish() })).default([]),
})
export type Person = z.infer<typeof schema>

/** A person that cannot be read. The message is the reason. */
export class UnreadablePerson extends Error {}

/** The name of an answered person, with its state; null if it has none. */
export function readNamed(answered: unknown): NamedPerson | null {
  return namedSchema.safeParse(answered).data ?? null
}

/** Throws `UnreadablePerson`. */
export function readPerson(answered: unknown): Person {
  const { data, error } = schema.safeParse(answered)
  if (data) return data
  throw new UnreadablePerson(
    `The field ${error.issues[0]?.path.join('.') ?? ''} of the person has another form`,
  )
}

/** The source of a person that is the user's own contact; null if the person is none. */
export function contactSourceOf({ metadata: { sources } }: Pick<NamedPerson, 'metadata'>) {
  return sources.find(({ type }) => type === 'CONTACT') ?? null
}

/** The version of a person as its source names it: that of the answer depends on the fields that were asked for. */
export function versionOf(person: Pick<NamedPerson, 'metadata'>): string | null {
  return contactSourceOf(person)?.etag ?? null
}

/** A person as a contact; null if the person is no contact of the user. */
export function contactOf(person: Person, formerKeys: readonly string[] = []): RemoteContact | null {
  const source = contactSourceOf(person)
  const version = source?.etag
  if (!source || !version) return null
  const updatedAt = new Date(source.updateTime ?? '')
  return {
    key: person.resourceName,
    folderKey: FOLDER_KEY,
    version,
    ...(formerKeys.length > 0 && { formerKeys }),
    uid: source.id ?? null,
    fields: fieldsOf(person),
    photo: photoOf(person),
    updatedAt: Number.isNaN(updatedAt.getTime()) ? null : updatedAt,
  }
}

export function fieldsOf(person: Person): ContactFields {
  const [name] = person.names
  const [organization] = person.organizations
  return {
    displayName: toName(name?.unstructuredName || name?.displayName || ''),
    givenName: toName(name?.givenName ?? ''),
    middleName: toName(name?.middleName ?? ''),
    familyName: toName(name?.familyName ?? ''),
    nickname: toName(person.nicknames[0]?.value ?? ''),
    organization: toName(organization?.name ?? ''),
    jobTitle: toName(organization?.title ?? ''),
    department: toName(organization?.department ?? ''),
    emails: shownOf(person.emailAddresses).map(({ value, type }) => ({
      address: toName(value ?? '') ?? '',
      type: emailTypeOf(type),
    })),
    phones: shownOf(person.phoneNumbers).map(({ value, type }) => ({
      number: toName(value ?? '') ?? '',
      type: phoneTypeOf(type),
    })),
    birthday: birthdayOf(person),
    notes: toNotes(person.biographies[0]?.value ?? ''),
  }
}

/** The addresses or numbers of a person that the interface shows. */
export function shownOf<Value extends { value?: string | null | undefined }>(
  values: readonly Value[],
): Value[] {
  return values.filter(({ value }) => toName(value ?? '') !== null).slice(0, CONTACT_VALUES_MAX)
}

export function emailTypeOf(type: string | null | undefined): EmailType {
  return type === 'home' || type === 'work' ? type : 'other'
}

const PHONE_TYPES: ReadonlyMap<string, PhoneType> = new Map([
  ['home', 'home'],
  ['work', 'work'],
  ['mobile', 'mobile'],
  ['workMobile', 'mobile'],
  ['homeFax', 'fax'],
  ['workFax', 'fax'],
  ['otherFax', 'fax'],
  ['pager', 'pager'],
  ['workPager', 'pager'],
  ['main', 'main'],
])

export function phoneTypeOf(type: string | null | undefined): PhoneType {
  return PHONE_TYPES.get(type ?? '') ?? 'other'
}

/** A day without a year has the year 0, or none. A birthday that is free text is not shown. */
function birthdayOf({ birthdays }: Person): string | null {
  const { year = 0, month = 0, day = 0 } = birthdays.find(({ date }) => date)?.date ?? {}
  if (month < 1 || month > 12 || day < 1 || day > 31 || year < 0 || year > 9_999) return null
  const digits = (value: number, count: number) => String(value).padStart(count, '0')
  return `${year === 0 ? '-' : digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}`
}

/** The picture that Google makes of a name is no photo. */
function photoOf({ photos }: Person): RemotePhotoState {
  for (const { url, default: isMade } of photos) {
    const path = isMade ? null : photoPathOf(url ?? '')
    if (path !== null) return { type: 'some', version: path }
  }
  return { type: 'none' }
}
