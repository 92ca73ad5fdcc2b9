import { failedPrecondition, invalidArgument } from '../../google/api/refusal.ts'
import { addContact, changeContact, type Contact, removeContact } from '../book.ts'
import { SHAPES, SINGLETONS, WRITABLE } from '../person-fields.ts'
import { presentPerson, sourceEtag, sourceEtagIn, storedContents } from '../person.ts'
import { personFieldsIn, updatedFieldsIn } from './masks.ts'
import { CONTACTS, type MethodCall, type PeopleMethod } from './method.ts'
import { requireContact } from './persons.ts'

const QUERY = ['personFields', 'sources']
const ALL_FIELDS = [...Object.keys(WRITABLE), 'metadata', 'photos']
const MY_CONTACTS = {
  contactGroupMembership: {
    contactGroupId: 'myContacts',
    contactGroupResourceName: 'contactGroups/myContacts',
  },
}

export const writeMethods: readonly PeopleMethod[] = [
  {
    id: 'createContact',
    http: 'POST',
    path: 'people:createContact',
    scopes: [CONTACTS],
    metric: 'writes',
    query: QUERY,
    body: SHAPES.person,
    answer: SHAPES.person,
    run: create,
  },
  {
    id: 'updateContact',
    http: 'PATCH',
    path: '{+resourceName}:updateContact',
    scopes: [CONTACTS],
    metric: 'writes',
    query: [...QUERY, 'updatePersonFields'],
    body: SHAPES.person,
    answer: SHAPES.person,
    run: update,
  },
  {
    id: 'deleteContact',
    http: 'DELETE',
    path: '{+resourceName}:deleteContact',
    scopes: [CONTACTS],
    metric: 'writes',
    query: [],
    answer: SHAPES.nothing,
    run({ book, resourceName }) {
      removeContact(book, requireContact(book, resourceName))
      return {}
    },
  },
]

function create({ book, query, body }: MethodCall): object {
  const fields = personFieldsIn(query, ALL_FIELDS)
  const contents = storedContents(pick(body, Object.keys(WRITABLE)))
  requireSingle(body)
  const memberships = contents['memberships']?.length ? contents['memberships'] : [MY_CONTACTS]
  return presentPerson(addContact(book, { ...contents, memberships }), fields)
}

function update({ book, query, body, resourceName }: MethodCall): object {
  const replaced = updatedFieldsIn(query)
  const fields = personFieldsIn(query, ALL_FIELDS)
  const contact = requireContact(book, resourceName)
  requireCurrent(contact, body)
  requireSingle(body)
  const absent = Object.fromEntries(replaced.map(field => [field, []]))
  const contents = storedContents({ ...absent, ...pick(body, replaced) })
  if (contents['memberships']?.length === 0)
    throw invalidArgument('Contact person must have at least one contact group membership.')
  return presentPerson(changeContact(book, contact, contents), fields)
}

/** Refuses a change of what has changed since it was read. */
function requireCurrent(contact: Contact, body: Record<string, unknown>): void {
  const { sources } = (body['metadata'] ?? {}) as { sources?: Array<{ type?: string; etag?: string }> }
  const source = Array.isArray(sources) ? sources.find(({ type }) => type === 'CONTACT') : undefined
  const { etag } = body
  if (!source && typeof etag !== 'string')
    throw invalidArgument(
      'Request must set person.etag or person.metadata.sources.etag for the source that is being updated.',
    )
  const current = sourceEtag(contact)
  if (source && source.etag !== current) throw overtaken('person.metadata.sources.etag')
  if (typeof etag === 'string' && sourceEtagIn(etag) !== current) throw overtaken('person.etag')
}

const overtaken = (name: string) =>
  failedPrecondition(
    `Request ${name} is different than the current ${name}. Clear local cache and get the latest person.`,
  )

function requireSingle(body: Record<string, unknown>): void {
  for (const field of SINGLETONS) {
    const items = body[field]
    if (Array.isArray(items) && items.length > 1)
      throw invalidArgument(`Multiple values are not allowed for the contact field: ${field}.`)
  }
}

const pick = (body: Record<string, unknown>, fields: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(fields.flatMap(field => (body[field] === undefined ? [] : [[field, body[field]]])))
