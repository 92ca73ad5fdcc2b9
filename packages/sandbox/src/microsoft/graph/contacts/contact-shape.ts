import type { Contact, ContactFolder, ContactPhoto } from '../../mailbox/contact.ts'
import { ADDRESSES, TEXT_LISTS, TEXTS } from '../../mailbox/contact.ts'
import { expandedIds } from '../extended.ts'
import { etagOf } from '../message-shape.ts'
import { timeText } from '../message-times.ts'
import { type Expanded, parseExpand, parseSelect } from '../odata/select.ts'
import type { Query } from '../odata/query.ts'
import type { Preferences } from '../prefer.ts'

/** Properties and ids of contacts that a client asked for. */
export interface ContactView {
  /** Null for all properties. */
  readonly select: readonly string[] | null
  readonly expand: readonly Expanded[]
  readonly immutableIds: boolean
}

const TYPE = 'microsoft.graph.contact'

type Shown = (contact: Contact, view: ContactView) => unknown

/** The properties of a contact. */
const PROPERTIES: Readonly<Record<string, Shown>> = {
  id: (contact, view) => idOf(contact, view),
  createdDateTime: ({ createdAt }) => timeText(createdAt),
  lastModifiedDateTime: ({ modifiedAt }) => timeText(modifiedAt),
  changeKey: ({ changeKey }) => changeKey,
  parentFolderId: ({ folder }) => folder.id,
  birthday: ({ birthday }) => (birthday === null ? null : timeText(birthday)),
  ...Object.fromEntries(TEXTS.map((name): [string, Shown] => [name, contact => contact[name]])),
  ...Object.fromEntries(Object.keys(TEXT_LISTS).map(listProperty)),
  emailAddresses: ({ emailAddresses }) => emailAddresses,
  ...Object.fromEntries(ADDRESSES.map((name): [string, Shown] => [name, contact => contact[name]])),
}

function listProperty(name: string): [string, Shown] {
  // The names are those of the table.
  return [name, contact => contact[name as keyof typeof TEXT_LISTS]]
}

const NAMES = Object.keys(PROPERTIES)
const NAVIGATIONS = ['photo', 'extensions', 'singleValueExtendedProperties', 'multiValueExtendedProperties']

/** Reads `$select`, `$expand` and the preference for ids of a request. */
export function contactViewOf(query: Pick<Query, 'options'>, prefer: Preferences): ContactView {
  return {
    select: parseSelect(query.options.get('select'), [...NAMES, ...NAVIGATIONS], TYPE),
    expand: parseExpand(query.options.get('expand'), NAVIGATIONS, TYPE),
    immutableIds: prefer.immutableIds,
  }
}

/** The view of a contact that was written. */
export const wholeContact = ({ immutableIds }: Preferences): ContactView => ({
  select: null,
  expand: [],
  immutableIds,
})

const idOf = (contact: Contact, { immutableIds }: Pick<ContactView, 'immutableIds'>): string =>
  immutableIds ? contact.immutableId : contact.id

/** A contact as Graph answers it. */
export function presentContact(contact: Contact, view: ContactView): Record<string, unknown> {
  const shown: Record<string, unknown> = { '@odata.etag': etagOf(contact) }
  for (const name of view.select ?? NAMES) {
    const present = PROPERTIES[name]
    if (present) shown[name] = present(contact, view)
  }
  for (const { name, options } of view.expand) {
    if (name !== 'singleValueExtendedProperties') continue
    const properties = expandedIds(options.get('filter')).flatMap(id => {
      const value = contact.extended.get(id)
      return value === undefined ? [] : [{ id, value }]
    })
    // A contact that has none of them does not have the collection.
    if (properties.length > 0) shown[name] = properties
  }
  return shown
}

/** Only the properties of a contact that changed: a delta may leave out the others. */
export const presentSparseContact = (
  contact: Contact,
  view: ContactView,
  fields: ReadonlySet<string>,
): Record<string, unknown> =>
  presentContact(contact, {
    ...view,
    select: ['id', 'parentFolderId', ...fields].filter(name => view.select?.includes(name) ?? true),
  })

export const presentContactFolder = (folder: ContactFolder, rootId: string): Record<string, unknown> => ({
  id: folder.id,
  parentFolderId: folder.parent?.id ?? rootId,
  displayName: folder.displayName,
})

export const presentPhoto = ({ contentType }: ContactPhoto, { changeKey }: Contact): object => ({
  '@odata.mediaContentType': contentType,
  '@odata.mediaEtag': `"${changeKey}"`,
  id: '48X48',
  width: 48,
  height: 48,
})
