import type { people_v1 as people } from '@googleapis/people'

/** The answers of the API, in the types that Google publishes. */
export interface Answers {
  connections: people.Schema$ListConnectionsResponse
  people: people.Schema$GetPeopleResponse
  person: people.Schema$Person
}
