import { invalidArgument, notFound } from '../../google/api/refusal.ts'
import { type Book, type Contact, findContact } from '../book.ts'
import { SHAPES } from '../person-fields.ts'
import { presentPerson } from '../person.ts'
import { personFieldsIn } from './masks.ts'
import { type MethodCall, type PeopleMethod, PROFILE_READERS } from './method.ts'

const NAMES_MAX = 200
const QUERY = ['personFields', 'sources', 'requestMask.includeField']

export const personMethods: readonly PeopleMethod[] = [
  {
    id: 'get',
    http: 'GET',
    path: '{+resourceName}',
    scopes: PROFILE_READERS,
    metric: 'reads',
    query: QUERY,
    answer: SHAPES.person,
    run: ({ book, resourceName, query }) =>
      presentPerson(requireContact(book, resourceName), personFieldsIn(query)),
  },
  {
    id: 'getBatchGet',
    http: 'GET',
    path: 'people:batchGet',
    scopes: PROFILE_READERS,
    metric: 'reads',
    query: [...QUERY, 'resourceNames'],
    answer: SHAPES.people,
    run: batchGet,
  },
]

export function requireContact(book: Book, resourceName: string): Contact {
  const contact = findContact(book, resourceName)
  if (!contact) throw notFound()
  return contact
}

function batchGet({ book, query }: MethodCall): object {
  const fields = personFieldsIn(query)
  const names = query.getAll('resourceNames')
  if (names.length === 0 || names.length > NAMES_MAX)
    throw invalidArgument(`Must specify between 1 and ${NAMES_MAX} resource names.`)
  if (new Set(names).size < names.length) throw invalidArgument('Duplicate resource names are not allowed.')
  const responses = names.map(requestedResourceName => {
    const contact = findContact(book, requestedResourceName)
    if (contact) {
      const person = presentPerson(contact, fields)
      return { httpStatusCode: 200, person, requestedResourceName, status: {} }
    }
    const status = { code: 5, message: 'Requested entity was not found.' }
    return { httpStatusCode: 404, requestedResourceName, status }
  })
  return { responses }
}
