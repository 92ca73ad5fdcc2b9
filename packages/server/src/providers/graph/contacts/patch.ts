import { isDeepStrictEqual } from 'node:util'
import type { ContactChange, ContactFields, PhoneType } from '../../contacts.ts'
import { ProviderFailure } from '../../failure.ts'
import type { GraphContact } from './contact.ts'

/** Addresses that Exchange has room for (github.com/microsoftgraph/microsoft-graph-docs-contrib/issues/560). */
const EMAILS_MAX = 3
/** Numbers of each kind that it has room for. It has no other kinds. */
const PHONES_MAX: Readonly<Partial<Record<PhoneType, number>>> = { work: 2, home: 2, mobile: 1 }
/** The first year that a time of Exchange can have (MS-DTYP section 2.3.3). */
const FIRST_YEAR = '1601'
/** The time of a birthday that is the same day in nearly all zones, and that Outlook on the web uses. */
const BIRTHDAY_TIME = 'T11:59:00Z'

const NAMES = {
  displayName: 'displayName',
  givenName: 'givenName',
  middleName: 'middleName',
  familyName: 'surname',
  nickname: 'nickName',
  organization: 'companyName',
  jobTitle: 'jobTitle',
  department: 'department',
  notes: 'personalNotes',
} as const satisfies Partial<Record<keyof ContactFields, string>>

/** Parts of a name. Graph makes another display name of them if a change does not send one. */
const NAME_PARTS = ['givenName', 'middleName', 'surname'] as const

/** Throws `unsupported` for what Exchange cannot hold, so that nothing is dropped. */
export function requireHeld({ emails, phones, birthday }: ContactChange): void {
  if (emails && emails.length > EMAILS_MAX)
    refuse(`A contact of Microsoft 365 has room for ${EMAILS_MAX} email addresses.`)
  if (emails?.some(({ type }) => type !== 'other'))
    refuse('Email addresses of Microsoft 365 have no type: send "other".')
  for (const [type, ones] of Map.groupBy(phones ?? [], phone => phone.type)) {
    const most = PHONES_MAX[type] ?? 0
    if (ones.length > most)
      refuse(`A contact of Microsoft 365 has room for ${most} phone numbers of the type "${type}".`)
  }
  if (birthday?.startsWith('--')) refuse('A birthday of Microsoft 365 has a year.')
  if (birthday && birthday < FIRST_YEAR) refuse(`A birthday of Microsoft 365 is not before ${FIRST_YEAR}.`)
}

function refuse(message: string): never {
  throw new ProviderFailure('unsupported', message)
}

/** The part of a change that makes a difference. */
export function differing(change: ContactChange, fields: ContactFields): ContactChange {
  return Object.fromEntries(
    Object.entries(change).filter(
      // The names of a change are those of the fields.
      ([name, value]) => !isDeepStrictEqual(value, fields[name as keyof ContactFields]),
    ),
  )
}

/**
 * The properties to send for a change.
 * @param present the contact as Graph has it; null for a new one
 */
export function toPatch(change: ContactChange, present: GraphContact | null): Record<string, unknown> {
  const json: Record<string, unknown> = {}
  for (const [field, property] of Object.entries(NAMES)) {
    // The names are those of the table.
    const value = change[field as keyof typeof NAMES]
    if (value !== undefined) json[property] = value
  }
  if (change.emails) json['emailAddresses'] = change.emails.map(({ address }) => emailOf(address, present))
  if (change.phones) {
    const ofType = (type: PhoneType) =>
      change.phones?.flatMap(phone => (phone.type === type ? phone.number : [])) ?? []
    json['businessPhones'] = ofType('work')
    json['homePhones'] = ofType('home')
    json['mobilePhone'] = ofType('mobile')[0] ?? null
  }
  if (change.birthday !== undefined)
    json['birthday'] = change.birthday === null ? null : `${change.birthday}${BIRTHDAY_TIME}`
  const isRenamed = NAME_PARTS.some(name => name in json)
  if (isRenamed && !('displayName' in json) && present?.displayName) json['displayName'] = present.displayName
  return json
}

/** An address that stays keeps its name. */
function emailOf(address: string, present: GraphContact | null): object {
  const kept = present?.emailAddresses?.find(one => one?.address === address)
  return { address, ...(kept?.name && { name: kept.name }) }
}
