import { hash } from 'node:crypto'
import type { Contact, Contents, Item } from './book.ts'

/** The host of photos. Their URLs name it wherever it is played. */
export const PHOTO_HOST = 'lh3.googleusercontent.com'
const SIZE = '=s100'

/** The end of the URL of the picture that stands for contacts without a photo. */
export const DEFAULT_PHOTO = 'ALdefault'

/** The ETag of a contact within its source. It differs after each change. */
export const sourceEtag = ({ sequence, sourceId }: Contact): string =>
  `#${hash('sha1', `${sourceId} ${sequence}`, 'base64').slice(0, 11)}=`

/** The ETag of a person, which depends on the fields that were asked for as well. */
export function personEtag(contact: Contact, fields: readonly string[]): string {
  const mask = hash('sha1', fields.toSorted().join(','), 'base64').slice(0, 8)
  return `%${Buffer.from(`${mask}${sourceEtag(contact)}`).toString('base64')}`
}

/** The ETag of the source within that of a person; null if it is none. */
export function sourceEtagIn(etag: string): string | null {
  return /^.{8}(#.+)$/.exec(Buffer.from(etag.slice(1), 'base64').toString())?.[1] ?? null
}

/** A contact as an answer has it, with the fields that were asked for. */
export function presentPerson(contact: Contact, fields: readonly string[], isSync = false): object {
  const { resourceName } = contact
  const etag = personEtag(contact, fields)
  if (contact.deleted) return { resourceName, etag, metadata: { ...sourcesOf(contact), deleted: true } }
  return {
    resourceName,
    etag,
    ...(fields.includes('metadata') && { metadata: metadataOf(contact, isSync) }),
    ...Object.fromEntries(
      fields.flatMap(field => {
        const items = itemsOf(contact, field)
        return items.length === 0 ? [] : [[field, items.map((one, at) => withMetadata(contact, one, at))]]
      }),
    ),
  }
}

const sourcesOf = (contact: Contact) => ({
  objectType: 'PERSON',
  sources: [
    {
      type: 'CONTACT',
      id: contact.sourceId,
      etag: sourceEtag(contact),
      updateTime: new Date(contact.changedAt).toISOString(),
    },
  ],
})

function metadataOf(contact: Contact, isSync: boolean): object {
  const { formerNames } = contact
  return {
    ...sourcesOf(contact),
    ...(isSync && formerNames.length > 0 && { previousResourceNames: formerNames }),
  }
}

function itemsOf({ contents, photo }: Contact, field: string): readonly Item[] {
  if (field !== 'photos') return contents[field] ?? []
  const token = photo?.token ?? DEFAULT_PHOTO
  return [{ url: `https://${PHOTO_HOST}/contacts/${token}${SIZE}`, ...(photo === null && { default: true }) }]
}

const withMetadata = ({ sourceId }: Contact, one: Item, at: number): Item => ({
  metadata: {
    ...(at === 0 && { primary: true }),
    source: { type: 'CONTACT', id: sourceId },
    sourcePrimary: at === 0,
  },
  ...one,
})

/** Values that only answers have. */
const ANSWERED = new Set(['metadata', 'formattedType', 'canonicalForm', 'displayNameLastFirst'])

/** Fields as Google stores them: names are completed, types get their words, and values that say nothing are left out. */
export function storedContents(given: Readonly<Record<string, unknown>>): Contents {
  return Object.fromEntries(
    Object.entries(given).map(([field, items]) => [
      field,
      (Array.isArray(items) ? (items as Item[]) : []).flatMap((one): Item[] => {
        const stored = storedItem(field, one)
        return stored ? [stored] : []
      }),
    ]),
  )
}

function storedItem(field: string, one: Item): Item | null {
  const entries = Object.entries(one).filter(
    ([name, value]) =>
      !ANSWERED.has(name) &&
      !(field === 'names' && name === 'displayName') &&
      value !== null &&
      value !== '' &&
      value !== undefined,
  )
  const values: Item = Object.fromEntries(entries)
  if (field === 'names') return storedName(values)
  if (entries.every(([name]) => name === 'type' || name === 'contentType')) return null
  const { type, value } = values
  return {
    ...values,
    ...(typeof type === 'string' && { formattedType: type.charAt(0).toUpperCase() + type.slice(1) }),
    ...(field === 'biographies' && { contentType: values['contentType'] ?? 'TEXT_PLAIN' }),
    ...(field === 'phoneNumbers' &&
      typeof value === 'string' &&
      value.startsWith('+') && { canonicalForm: `+${value.replaceAll(/\D/g, '')}` }),
  }
}

const PARTS = ['honorificPrefix', 'givenName', 'middleName', 'familyName', 'honorificSuffix'] as const

/**
 * A name as Google stores it. Free text is parsed for its parts, and parts make a free text; if both are given, both are
 * stored as they are.
 */
function storedName(given: Item): Item | null {
  const { unstructuredName } = given
  const parts = PARTS.flatMap(name => given[name] ?? [])
  if (typeof unstructuredName !== 'string') {
    if (parts.length === 0) return null
    return shown({ ...given, unstructuredName: parts.join(' ') })
  }
  if (parts.length > 0) return shown(given)
  const words = unstructuredName.trim().split(/\s+/)
  const [givenName = ''] = words
  return shown({
    ...given,
    givenName,
    ...(words.length > 2 && { middleName: words.slice(1, -1).join(' ') }),
    ...(words.length > 1 && { familyName: words.at(-1) }),
  })
}

function shown(name: Item): Item {
  const { unstructuredName, familyName, givenName } = name
  const lastFirst = [familyName, givenName].filter(part => part !== undefined).join(', ')
  return { ...name, displayName: unstructuredName, displayNameLastFirst: lastFirst || unstructuredName }
}
