import {
  ADDRESSES,
  type ContactEmail,
  type ContactFields,
  EMAILS_MAX,
  TEXT_LISTS,
  TEXTS,
} from '../../mailbox/contact.ts'
import { badRequest, type GraphRefusal } from '../errors.ts'
import { extendedIn, objectIn, objects, text, unknownProperty, wrongValue } from '../message-input.ts'

/** Properties that clients send back as they read them, and that Graph ignores. */
const PASSED_OVER = new Set(
  'id createdDateTime lastModifiedDateTime changeKey parentFolderId photo extensions multiValueExtendedProperties primaryEmailAddress secondaryEmailAddress tertiaryEmailAddress'.split(
    ' ',
  ),
)

const ADDRESS_PARTS = new Set(['street', 'city', 'state', 'countryOrRegion', 'postalCode'])

/** Reads the properties of a contact. A property that contacts do not have is refused. */
export function readContactInput(json: Record<string, unknown>): Partial<ContactFields> {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(json)) {
    if (name.includes('@') || PASSED_OVER.has(name)) continue
    if (isOneOf(TEXTS, name)) fields[name] = textOrNull(value, name)
    else if (Object.hasOwn(TEXT_LISTS, name)) fields[name] = textsIn(value, name)
    else if (isOneOf(ADDRESSES, name)) fields[name] = addressIn(value, name)
    else if (name === 'emailAddresses') fields[name] = emailsIn(value)
    else if (name === 'birthday') fields[name] = timeIn(value)
    else if (name === 'singleValueExtendedProperties') fields['extended'] = extendedIn(value)
    else throw unknownProperty(name, 'contact')
  }
  // Each value was read by the reader of its name.
  return fields as Partial<ContactFields>
}

const isOneOf = (names: readonly string[], name: string): boolean => names.includes(name)

/** Exchange ends the lines of notes with CR and LF, as in a message. */
function textOrNull(value: unknown, name: string): string | null {
  const given = text(value, name)
  if (given === '') return null
  return name === 'personalNotes' ? given.replaceAll(/\r?\n|\r/g, '\r\n') : given
}

function textsIn(value: unknown, name: string): string[] {
  if (value === null) return []
  if (!Array.isArray(value)) throw wrongValue(name)
  const given = value.map(item => text(item, name)).filter(item => item !== '')
  // The names are those of the table.
  const most = TEXT_LISTS[name as keyof typeof TEXT_LISTS]
  if (most !== null && given.length > most) throw tooMany(name, given.length, most)
  return given
}

/** The words of Exchange (github.com/microsoftgraph/microsoft-graph-docs-contrib/issues/560). */
const tooMany = (name: string, count: number, most: number): GraphRefusal =>
  badRequest(
    `The multi value property ${name.charAt(0).toUpperCase()}${name.slice(1)} has ${count} entries, that exceeds the max allowed value of ${most}`,
    'ErrorInvalidProperty',
  )

function emailsIn(value: unknown): ContactEmail[] {
  const given = objects(value ?? [], 'emailAddresses').map(item => {
    const address = text(item['address'], 'emailAddresses')
    return { name: text(item['name'], 'emailAddresses') || address, address }
  })
  if (given.length > EMAILS_MAX) throw tooMany('emailAddresses', given.length, EMAILS_MAX)
  return given
}

function addressIn(value: unknown, name: string): Record<string, string> {
  const parts = Object.entries(objectIn(value ?? {}, name)).filter(([, part]) => part !== null)
  const unknown = parts.find(([part]) => !ADDRESS_PARTS.has(part))
  if (unknown) throw unknownProperty(unknown[0], 'physicalAddress')
  return Object.fromEntries(parts.map(([part, given]) => [part, text(given, name)]))
}

/** The first time that Exchange has (MS-DTYP 2.3.3). */
const FIRST_TIME = Date.UTC(1601, 0, 1)

function timeIn(value: unknown): number | null {
  if (value === null) return null
  const at = typeof value === 'string' && /T/.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(at) || at < FIRST_TIME) throw wrongValue('birthday')
  return at
}
