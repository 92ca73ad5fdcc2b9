import type { z } from 'zod'
import { ProviderFailure } from '../failure.ts'
import { googleFailure } from '../google/failure.ts'
import { GoogleApi, type GoogleApiOptions } from '../google/google-api.ts'
import { type Query, writeQuery } from '../google/query.ts'
import { readAnswer } from '../http/answers.ts'
import type { ProviderCall } from '../http/provider-calls.ts'
import { readBatch, writeBatch } from './batch.ts'
import type { Urgency } from '../google/governor.ts'

export const GMAIL_HOST = 'gmail.googleapis.com'
const MAILBOX_PATH = '/gmail/v1/users/me/'
const BATCH_PATH = '/batch/gmail/v1'
/** The documentation advises no more, since larger batches are likely to be throttled. 100 are the most. */
export const BATCH_PARTS_MAX = 50
const BATCH_BYTES_MAX = 32 * 1024 * 1024

export interface GmailRequest<T> {
  method?: ProviderCall['method']
  /** Below the mailbox of the user, such as `labels`. An id in it is encoded by `segment`. */
  path: string
  /** A text is one that `writeQuery` wrote. */
  query?: Query | string
  json?: unknown
  /** See `UNITS`. */
  units: number
  /** The part of the answer to read; an empty answer is `undefined`. */
  schema: z.ZodType<T>
  answerBytesMax?: number
}

export interface AskOptions {
  /** Bytes that the answer to a batch may have. */
  answerBytesMax?: number
  urgency?: Urgency
  signal?: AbortSignal | undefined
}

/** The answer to one part of a batch. */
export type PartOutcome<T> = { value: T; failure: null } | { value: null; failure: ProviderFailure }

/**
 * The Gmail API as one user. Every method throws `ProviderFailure`: `throttled` if there is no room in the quota, or
 * the provider answers so. A request that the provider refuses for its token is repeated once with another one.
 */
export class GmailApi extends GoogleApi {
  constructor(options: GoogleApiOptions) {
    super('Gmail', options)
  }

  /** The seconds that the quota gives background work at least for the units. */
  secondsFor(units: number): number {
    return this.quota.secondsFor(units)
  }

  /** Units that one batch may cost (see `UserQuota`). */
  get batchUnitsMax(): number {
    return this.quota.batchUnitsMax
  }

  /** Rejects with `throttled` unless background work of this size could be done now. */
  requireRoom(units: number): Promise<void> {
    return this.quota.requireRoom(units, 'background')
  }

  async ask<T>(request: GmailRequest<T>, options: AskOptions = {}): Promise<T> {
    const answer = await this.call(callOf(request, options), request.units, options.urgency)
    return readAnswer('Gmail', request.schema, answer.content)
  }

  /**
   * Sends several requests as one batch. The outcomes are in the order of the requests; a request whose answer is
   * missing failed with `unavailable`. At most `BATCH_PARTS_MAX`.
   */
  async askAll<T>(
    requests: ReadonlyArray<GmailRequest<T>>,
    options: AskOptions = {},
  ): Promise<Array<PartOutcome<T>>> {
    const [only] = requests
    if (!only) return []
    if (requests.length === 1) return [await outcomeOf(() => this.ask(only, options))]
    const { contentType, body } = writeBatch(
      requests.map(({ method = 'GET', path, query, json }) => ({ method, path: pathOf(path, query), json })),
    )
    const answer = await this.call(
      {
        host: GMAIL_HOST,
        method: 'POST',
        path: BATCH_PATH,
        headers: { 'content-type': contentType },
        body,
        isRepeatable: requests.every(({ method = 'GET' }) => method === 'GET'),
        answerBytesMax: options.answerBytesMax ?? BATCH_BYTES_MAX,
        signal: options.signal,
      },
      requests.reduce((sum, { units }) => sum + units, 0),
      options.urgency,
    )
    const parts = readBatch(answer, requests.length)
    return requests.map((request, index): PartOutcome<T> => {
      const part = parts.get(index)
      try {
        if (!part) throw new ProviderFailure('unavailable', 'Gmail left out a part of its answer.')
        const { method = 'GET' } = request
        if (part.status < 200 || part.status > 299)
          throw googleFailure('Gmail', part, { now: this.now(), isWrite: method !== 'GET' })
        return { value: readAnswer('Gmail', request.schema, part.content), failure: null }
      } catch (error) {
        if (!(error instanceof ProviderFailure)) throw error
        return { value: null, failure: this.pausedFor(error) }
      }
    })
  }
}

async function outcomeOf<T>(work: () => Promise<T>): Promise<PartOutcome<T>> {
  try {
    return { value: await work(), failure: null }
  } catch (error) {
    if (!(error instanceof ProviderFailure) || error.isBusy) throw error
    return { value: null, failure: error }
  }
}

function callOf<T>(request: GmailRequest<T>, { signal }: AskOptions): ProviderCall {
  const { method = 'GET', path, query, json, answerBytesMax } = request
  return {
    host: GMAIL_HOST,
    method,
    path: pathOf(path, query),
    signal,
    ...(json !== undefined && {
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify(json),
    }),
    ...(answerBytesMax !== undefined && { answerBytesMax }),
  }
}

export function pathOf(path: string, query: Query | string = {}): string {
  const text = typeof query === 'string' ? query : writeQuery(query)
  return `${MAILBOX_PATH}${path}${text === '' ? '' : `?${text}`}`
}

/** An id as a segment of a path. */
export const segment = encodeURIComponent
