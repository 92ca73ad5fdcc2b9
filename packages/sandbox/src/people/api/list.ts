import { booleanIn, integerIn, wordIn } from '../../google/api/input.ts'
import { writeToken } from '../../google/api/place-tokens.ts'
import { invalidArgument } from '../../google/api/refusal.ts'
import { type Contact, contactsBefore, contactsOf } from '../book.ts'
import { SHAPES } from '../person-fields.ts'
import { presentPerson } from '../person.ts'
import { personFieldsIn } from './masks.ts'
import { CONTACTS, type MethodCall, type PeopleMethod, READONLY } from './method.ts'
import { readPageToken, readSyncToken, type SyncPlace } from './tokens.ts'

const PAGE_DEFAULT = 100
const PAGE_MAX = 1_000
const ORDERS = [
  'LAST_MODIFIED_ASCENDING',
  'LAST_MODIFIED_DESCENDING',
  'FIRST_NAME_ASCENDING',
  'LAST_NAME_ASCENDING',
] as const
type Order = (typeof ORDERS)[number]

const PERSON_QUERY = ['personFields', 'sources', 'requestMask.includeField']

export const listMethods: readonly PeopleMethod[] = [
  {
    id: 'connections.list',
    http: 'GET',
    path: '{+resourceName}/connections',
    scopes: [CONTACTS, READONLY],
    metric: 'reads',
    query: [...PERSON_QUERY, 'pageSize', 'pageToken', 'requestSyncToken', 'sortOrder', 'syncToken'],
    answer: SHAPES.connections,
    run: list,
  },
]

/** Lists contacts, or what has changed since a sync token. Syncs see changes only after a while. */
function list(call: MethodCall): object {
  const { book, query, resourceName, settings } = call
  if (resourceName !== 'people/me') throw invalidArgument('Resource name "people/me" is expected.')
  const fields = personFieldsIn(query)
  const order = wordIn(query, 'sortOrder', ORDERS, 'LAST_MODIFIED_ASCENDING')
  const size = integerIn(query, 'pageSize', PAGE_DEFAULT, PAGE_MAX)
  const parameters = JSON.stringify([fields.toSorted(), query.getAll('sources').toSorted(), order, size])
  const syncToken = query.get('syncToken')
  const isSync = syncToken !== null || booleanIn(query, 'requestSyncToken')
  const since = syncToken === null ? null : readSyncToken(book, syncToken, parameters)
  const pageToken = query.get('pageToken')
  const page = pageToken === null ? null : readPageToken(pageToken, parameters)
  if (isSync && !since && !page) call.charge('fullSyncs')

  const seen = isSync ? contactsBefore(book, settings.syncLagSeconds) : contactsOf(book)
  const wanted = since ? seen.filter(({ sequence }) => sequence > since.sequence) : seen.filter(isThere)
  // The next sync begins where the first page of this one was, so that nothing in between is lost.
  const next = page?.sync ?? (isSync ? placeOf(call, seen, since, parameters) : null)
  const ordered = wanted
    .map(contact => ({ contact, key: keyOf(contact, order) }))
    .filter(({ key }) => page === null || key > page.after)
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const listed = ordered.slice(0, size)
  const last = listed.at(-1)
  const hasMore = last !== undefined && ordered.length > size
  return {
    ...(listed.length > 0 && {
      connections: listed.map(({ contact }) => presentPerson(contact, fields, since !== null)),
    }),
    ...(hasMore && { nextPageToken: writeToken({ after: last.key, parameters, sync: next }) }),
    ...(!hasMore && next && { nextSyncToken: writeToken(next) }),
    ...(!since && { totalPeople: wanted.length, totalItems: wanted.length }),
  }
}

const isThere = ({ deleted }: Contact): boolean => !deleted

function placeOf(
  { book }: MethodCall,
  seen: readonly Contact[],
  since: SyncPlace | null,
  parameters: string,
): SyncPlace {
  const sequence = Math.max(since?.sequence ?? 0, ...seen.map(contact => contact.sequence))
  // A token lives from the full sync on, however often it is exchanged.
  return { sequence, generation: book.generation, fullAt: since?.fullAt ?? book.now(), parameters }
}

const DIGITS = 15
const LAST = 10 ** DIGITS - 1

/** A text by which contacts are ordered, and that names a place between them. */
function keyOf({ sequence, contents }: Contact, order: Order): string {
  const number = (value: number) => String(value).padStart(DIGITS, '0')
  if (order === 'LAST_MODIFIED_ASCENDING') return number(sequence)
  if (order === 'LAST_MODIFIED_DESCENDING') return number(LAST - sequence)
  const name = contents['names']?.[0]?.[order === 'FIRST_NAME_ASCENDING' ? 'givenName' : 'familyName']
  return `${typeof name === 'string' ? name.toLowerCase() : '\uffff'}\0${number(sequence)}`
}
