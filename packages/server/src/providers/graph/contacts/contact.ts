import { z } from 'zod'
import { toName, toNotes } from '../../contact-text.ts'
import {
  CONTACT_VALUES_MAX,
  type ContactFields,
  type PhoneType,
  type RemoteContact,
  type UnreadableContact,
} from '../../contacts.ts'
import { type GraphItem, versionOf } from '../items.ts'
import { firstOf, id, text, time } from '../resources.ts'

/** Values of a list that are read, more than Exchange holds. */
const LISTED_MAX = 100

const texts = firstOf(text, LISTED_MAX).nullish()

/** A contact (learn.microsoft.com/graph/api/resources/contact), as far as it is read. */
const contactSchema = z.object({
  id,
  parentFolderId: id,
  lastModifiedDateTime: time,
  displayName: text,
  givenName: text,
  middleName: text,
  surname: text,
  nickName: text,
  companyName: text,
  jobTitle: text,
  department: text,
  personalNotes: text,
  emailAddresses: firstOf(z.object({ name: text, address: text }).nullish(), LISTED_MAX).nullish(),
  businessPhones: texts,
  homePhones: texts,
  mobilePhone: text,
  birthday: z.string().max(64).nullish(),
})
export type GraphContact = z.infer<typeof contactSchema>

const FIELD_NAMES = [...Object.keys(contactSchema.shape), 'changeKey']
/** The fields that are selected, which are all that the index shows and those that name a version. */
export const CONTACT_FIELDS = FIELD_NAMES.join(',')
export const LISTED_FIELDS = 'id,changeKey,parentFolderId'

/** A contact with what a change of it needs to know. */
export interface ReadContact {
  given: GraphContact
  contact: RemoteContact
}

/** Whether an item has every field. A delta may leave out fields that did not change. */
export function isWhole(item: GraphItem): boolean {
  return FIELD_NAMES.every(name => item[name] !== undefined)
}

/** Reads an item that has every field. */
export function readItem(item: GraphItem): ReadContact | UnreadableContact {
  const version = versionOf(item)
  const { data, error } = contactSchema.safeParse(item)
  if (!data || version === null) {
    const path = error?.issues[0]?.path.join('.') ?? 'changeKey'
    return { key: item.id, version, reason: `Microsoft Graph gave a contact whose ${path} cannot be read` }
  }
  return { given: data, contact: toRemote(data, version) }
}

export function isReadable(read: ReadContact | UnreadableContact): read is ReadContact {
  return 'contact' in read
}

function toRemote(given: GraphContact, version: string): RemoteContact {
  const { lastModifiedDateTime: modifiedAt } = given
  return {
    key: given.id,
    folderKey: given.parentFolderId,
    version,
    uid: null,
    fields: toFields(given),
    // Graph does not say whether a contact has a photo.
    photo: { type: 'unknown' },
    updatedAt: modifiedAt === null || modifiedAt === undefined ? null : new Date(modifiedAt),
  }
}

function toFields(given: GraphContact): ContactFields {
  const emails = (given.emailAddresses ?? []).flatMap(one => {
    const address = toName(one?.address ?? '')
    return address === null ? [] : [{ address, type: 'other' as const }]
  })
  return {
    displayName: toName(given.displayName ?? ''),
    givenName: toName(given.givenName ?? ''),
    middleName: toName(given.middleName ?? ''),
    familyName: toName(given.surname ?? ''),
    nickname: toName(given.nickName ?? ''),
    organization: toName(given.companyName ?? ''),
    jobTitle: toName(given.jobTitle ?? ''),
    department: toName(given.department ?? ''),
    emails: emails.slice(0, CONTACT_VALUES_MAX),
    phones: [
      ...toPhones([given.mobilePhone], 'mobile'),
      ...toPhones(given.businessPhones, 'work'),
      ...toPhones(given.homePhones, 'home'),
    ].slice(0, CONTACT_VALUES_MAX),
    birthday: toBirthday(given.birthday),
    notes: toNotes(given.personalNotes ?? ''),
  }
}

function toPhones(
  numbers: ReadonlyArray<string | null | undefined> | null | undefined,
  type: PhoneType,
): ContactFields['phones'] {
  return (numbers ?? []).flatMap(given => {
    const number = toName(given ?? '')
    return number === null ? [] : [{ number, type }]
  })
}

const DAY_MS = 24 * 3_600_000
const NOON_MINUTES = 12 * 60
/** Midnight in UTC of New Zealand in summer, and of the Chatham Islands in summer and in winter. */
const BEFORE_NOON_MINUTES: ReadonlySet<number> = new Set([11 * 60, 10 * 60 + 15, 11 * 60 + 15])

/**
 * A birthday is a time: midnight where the client was that wrote it (MS-OXOCNTC section 2.2.1.5.1), or 11:59 UTC. From noon
 * on, it is the midnight of a zone in the east, on the next day. The few zones of the east that begin a day before noon UTC have
 * more people than those of the west with the same time.
 */
function toBirthday(given: string | null | undefined): string | null {
  const at = Date.parse(given ?? '')
  if (Number.isNaN(at)) return null
  const written = new Date(at)
  const minutes = written.getUTCHours() * 60 + written.getUTCMinutes()
  const isDayAfter = minutes >= NOON_MINUTES || BEFORE_NOON_MINUTES.has(minutes)
  const date = isDayAfter ? new Date(at + DAY_MS) : written
  const year = date.getUTCFullYear()
  return year >= 1 && year <= 9999 ? date.toISOString().slice(0, 10) : null
}
