import type { z } from 'zod'
import type { ProviderFailure } from '../failure.ts'
import type { OpenAnswer } from '../http/exchange.ts'
import type { CloudRow } from '../microsoft/clouds.ts'

/**
 * `interactive`: a person waits. `prompt`: new mail, and writes. `background`: reading older mail, storing bodies,
 * sweeps. `late`: following other data than mail, such as contacts, which lets every call of mail go first.
 */
export type Urgency = 'interactive' | 'prompt' | 'background' | 'late'

/** OData options such as `$select`, and others. Undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** A request for one resource. */
export interface GraphRequest<T> {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/v1.0/users/{id}/`, such as `mailFolders`. An id in it is encoded by `segment`. */
  path: string
  query?: Query
  json?: unknown
  body?: { type: 'text/plain' | 'application/json'; bytes: Uint8Array | string }
  /** Sent as `If-Match`: the change fails with `conflict` if the resource has another ETag. */
  ifMatch?: string
  /** The part of the answer to read; an empty answer is `undefined`. */
  schema: z.ZodType<T>
  /** The statuses that mean success. All others fail. */
  accepts: readonly number[]
  /** Bytes that the answer may have; 1 MiB by default. */
  answerBytesMax?: number
  /** Preferences besides the one for immutable ids, such as `odata.maxpagesize=500`. */
  prefer?: readonly string[]
}

export interface AskOptions {
  /** `prompt` by default. */
  urgency?: Urgency
  signal?: AbortSignal | undefined
  /** Called once everything for the request is there, just before it is sent. Its error ends the request unsent. */
  beforeEffect?: () => Promise<void>
}

/** The answer to one part of a batch. */
export type PartOutcome<T> = { value: T; failure: null } | { value: null; failure: ProviderFailure }

/** A range of bytes for an upload session. */
export interface UploadRange {
  /** The first byte of the range in the whole. */
  from: number
  /** Bytes of the whole. */
  total: number
  bytes: Uint8Array
}

/**
 * Microsoft Graph as one mailbox. Every method throws `ProviderFailure`: `throttled` if there is no room in the quota or
 * the provider answers so. A request that the provider refuses for its token is repeated once with another one.
 */
export interface GraphApi {
  readonly cloud: CloudRow
  /** Milliseconds since 1970. */
  now(): number
  /** The seconds that the quota gives background work at least for this number of calls. */
  secondsFor(calls: number): number
  ask<T>(request: GraphRequest<T>, options?: AskOptions): Promise<{ status: number; value: T }>
  /**
   * Sends up to 20 requests as batches whose parts are chained, so that they are carried out in turn. The outcomes are in
   * the order of the requests. A part that fails does not keep the others from being carried out, unless the failure
   * concerns the whole account or its quota. Each part counts as a call; a batch takes one slot.
   */
  askAll<T>(requests: ReadonlyArray<GraphRequest<T>>, options?: AskOptions): Promise<Array<PartOutcome<T>>>
  /** Throws `rejected` for a link that leads out of this mailbox or to another host. */
  requireOwn(link: string): void
  /** Asks for an absolute link of an answer. `rejected` if it leads out of this mailbox or to another host. */
  follow<T>(
    link: string,
    schema: z.ZodType<T>,
    options?: AskOptions & { prefer?: readonly string[]; answerBytesMax?: number },
  ): Promise<T>
  /**
   * The bytes of a path such as `messages/{id}/$value`. A slot of background work is held until all bytes are there, or the
   * answer is disposed of. Content that waits for its reader for 20 seconds in all ends with `AnswerUnread`.
   */
  stream(path: string, options?: AskOptions): Promise<OpenAnswer>
  /**
   * Sends a range to an upload session, without a token. `rejected` for an address that is not one of this cloud,
   * `conflict` if the session wants another range, `not_found` if it has ended.
   * @returns the first byte that the session still wants; null if it names none
   */
  putRange(uploadUrl: string, range: UploadRange, options?: AskOptions): Promise<number | null>
  /** Asks an upload session for the first byte that it wants, without a token. Failures and answers are those of `putRange`. */
  findNextRange(uploadUrl: string, options?: AskOptions): Promise<number | null>
  /** Asks for a resource outside the mailbox, below `/v1.0/`, such as `subscriptions`. */
  askRoot<T>(request: GraphRequest<T>, options?: AskOptions): Promise<{ status: number; value: T }>
}

/** Requests that one batch may have (learn.microsoft.com/graph/json-batching). */
export const BATCH_PARTS_MAX = 20

/** An id as a segment of a path. */
export const segment = encodeURIComponent

/** Names and values of a query in the form of a path; empty without any. */
export function writeQuery(query: Query = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) search.append(name, String(value))
  // Graph reads a plus in a query as itself in some places.
  const text = search.toString().replaceAll('+', '%20').replaceAll('%24', '$')
  return text === '' ? '' : `?${text}`
}
