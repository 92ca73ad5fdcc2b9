import { z } from 'zod'
import { ProviderFailure } from '../failure.ts'
import type { Urgency } from '../google/governor.ts'
import { GoogleApi, type GoogleApiOptions } from '../google/google-api.ts'
import { HOSTS } from '../google/hosts.ts'
import { type Query, writeQuery } from '../google/query.ts'
import { readAnswer } from '../http/answers.ts'
import type { OpenAnswer } from '../http/exchange.ts'
import type { ProviderCall } from '../http/provider-calls.ts'
import { FIELDS, RESOURCE_NAME } from './person.ts'

interface PeopleRequest<T> {
  method?: ProviderCall['method']
  /** Below `/v1/`. */
  path: string
  query: Query
  json?: unknown
  schema: z.ZodType<T>
  urgency?: Urgency | undefined
  signal?: AbortSignal | undefined
  /** Whether a refusal for its rate concerns no other call. */
  hasOwnQuota?: boolean
}

/** Persons of one page. A user has 25,000 contacts at most, so a minute is enough for all of them. */
const PAGE_PERSONS = 500
/** Persons that are asked for by their names at once, at most. */
const BATCH_MAX = 200
/** Bytes of one answer: a contact has a few kilobytes. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024
/** Persons of which little is asked for, such as those that are looked through for an earlier try of a creation. */
const SPARSE_MAX = 1_000

/** Data of contacts alone: what people show in their own profiles changes without the contact. */
const SOURCES = 'READ_SOURCE_TYPE_CONTACT'

const connections = z.object({
  connections: z.array(z.unknown()).max(SPARSE_MAX).default([]),
  nextPageToken: z.string().optional(),
  nextSyncToken: z.string().optional(),
  totalItems: z.number().optional(),
})
/** A page of persons, each still to be read. */
export type Connections = z.infer<typeof connections>

const batch = z.object({
  responses: z
    .array(
      z.object({
        httpStatusCode: z.number().optional(),
        requestedResourceName: z.string().optional(),
        person: z.unknown().optional(),
      }),
    )
    .max(BATCH_MAX)
    .default([]),
})

export interface Asking {
  /** `prompt` by default. */
  urgency?: Urgency | undefined
  signal?: AbortSignal | undefined
}

/** The place of a page in a sync. */
export interface SyncPlace {
  syncToken: string | null
  pageToken: string | null
}

/** The People API as one user (developers.google.com/people/api/rest/v1). Every call costs one unit. */
export class PeopleApi extends GoogleApi {
  constructor(options: GoogleApiOptions) {
    super('The People API', options)
  }

  /**
   * A page of a sync. All parameters but the tokens are the same in each call, since the tokens would not be taken
   * otherwise. The first page of a full sync has a quota of its own.
   */
  sync({ syncToken, pageToken }: SyncPlace, urgency: Urgency, signal: AbortSignal): Promise<Connections> {
    return this.#ask({
      path: 'people/me/connections',
      query: {
        personFields: FIELDS,
        sources: SOURCES,
        pageSize: PAGE_PERSONS,
        requestSyncToken: true,
        ...(syncToken !== null && { syncToken }),
        ...(pageToken !== null && { pageToken }),
      },
      schema: connections,
      urgency,
      signal,
      hasOwnQuota: syncToken === null && pageToken === null,
    })
  }

  /** A page of all contacts with their versions alone. */
  listVersions(pageToken: string | null, signal: AbortSignal): Promise<Connections> {
    return this.#ask({
      path: 'people/me/connections',
      query: {
        personFields: 'metadata',
        sources: SOURCES,
        pageSize: SPARSE_MAX,
        ...(pageToken !== null && { pageToken }),
      },
      schema: connections,
      urgency: 'background',
      signal,
    })
  }

  /** The contacts that were changed last, with the data of clients alone. */
  async listLatest(): Promise<readonly unknown[]> {
    const page = await this.#ask({
      path: 'people/me/connections',
      query: {
        personFields: 'clientData,metadata',
        sources: SOURCES,
        sortOrder: 'LAST_MODIFIED_DESCENDING',
        pageSize: SPARSE_MAX,
      },
      schema: connections,
    })
    return page.connections
  }

  /** Several persons. A person who is gone is answered with 404. */
  async getAll(
    names: readonly string[],
    { urgency, signal }: Asking = {},
  ): Promise<z.infer<typeof batch>['responses']> {
    const answer = await this.#ask({
      path: 'people:batchGet',
      query: { resourceNames: names, personFields: FIELDS, sources: SOURCES },
      schema: batch,
      urgency,
      signal,
    })
    return answer.responses
  }

  get(name: string, { urgency, signal }: Asking = {}): Promise<unknown> {
    return this.#ask({
      path: pathOf(name),
      query: { personFields: FIELDS, sources: SOURCES },
      schema: z.unknown(),
      urgency,
      signal,
    })
  }

  create(person: object): Promise<unknown> {
    return this.#ask({
      method: 'POST',
      path: 'people:createContact',
      query: { personFields: FIELDS, sources: SOURCES },
      json: person,
      schema: z.unknown(),
    })
  }

  /** @param mask names of the fields that are replaced */
  update(name: string, mask: readonly string[], person: object): Promise<unknown> {
    return this.#ask({
      method: 'PATCH',
      path: `${pathOf(name)}:updateContact`,
      query: { updatePersonFields: mask.join(','), personFields: FIELDS, sources: SOURCES },
      json: person,
      schema: z.unknown(),
    })
  }

  async delete(name: string): Promise<void> {
    await this.#ask({
      method: 'DELETE',
      path: `${pathOf(name)}:deleteContact`,
      query: {},
      schema: z.unknown(),
    })
  }

  /** Opens a photo, which needs no token. */
  openPhoto(path: string, answerBytesMax: number, signal: AbortSignal): Promise<OpenAnswer> {
    return this.openPublic({
      host: HOSTS.photos,
      method: 'GET',
      path,
      headers: { accept: 'image/*' },
      answerBytesMax,
      signal,
    })
  }

  async #ask<T>(request: PeopleRequest<T>): Promise<T> {
    const { method = 'GET', path, query, json, schema, urgency, signal, hasOwnQuota } = request
    const parameters = writeQuery(query)
    const call: ProviderCall = {
      host: HOSTS.people,
      method,
      path: `/v1/${path}${parameters && `?${parameters}`}`,
      signal,
      answerBytesMax: ANSWER_BYTES_MAX,
      ...(json !== undefined && {
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: JSON.stringify(json),
      }),
    }
    const readied = await this.ready(1, { ...(urgency && { urgency }), signal })
    const { content } = await this.callReadied(call, readied, hasOwnQuota)
    return readAnswer(this.api, schema, content)
  }
}

function pathOf(name: string): string {
  if (RESOURCE_NAME.test(name)) return name
  throw new ProviderFailure('not_found', 'The People API has no person of this name.')
}
