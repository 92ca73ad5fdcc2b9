import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { Secret } from '../../kit/secret.ts'
import type { AccessTokens } from '../access-tokens.ts'
import { isOfAccount, ProviderFailure, restate } from '../failure.ts'
import type { OpenAnswer } from '../http/exchange.ts'
import type { ProviderAnswer, ProviderCall, ProviderCalls } from '../http/provider-calls.ts'
import type { CloudRow } from '../microsoft/clouds.ts'
import {
  type AskOptions,
  BATCH_PARTS_MAX,
  type GraphApi,
  type GraphRequest,
  type PartOutcome,
  segment,
  type UploadRange,
  writeQuery,
} from './api.ts'
import { beforeAcceptance, readAnswer, readRefusal } from './answers.ts'
import { readBatch, writeBatch } from './batch.ts'
import { graphFailure } from './failure.ts'
import type { MailboxQuota } from './governor.ts'
import { pathOfLink, targetOfUpload } from './links.ts'
import { callOfRange, nextRangeOf } from './upload-ranges.ts'

const ROOT_PATH = '/v1.0/'
const BATCH_PATH = '/v1.0/$batch'
/** Ids that stay the same while a message moves (learn.microsoft.com/graph/outlook-immutable-id). */
const IMMUTABLE_IDS = 'IdType="ImmutableId"'
const BATCH_BYTES_MAX = 32 * 1024 * 1024
/** A page of 1,000 messages with all that the index shows of them. */
const PAGE_BYTES_MAX = 32 * 1024 * 1024
/** The longest message that Exchange can be set to accept. */
const STREAM_BYTES_MAX = 160 * 1024 * 1024
const STREAM_SECONDS = 600
const UPLOAD_STATUSES = new Set([200, 201, 202])
/** Once this many parts of a batch found no server, the others are not asked for again. */
const UNAVAILABLE_PARTS_MAX = 2

export interface GraphClientOptions {
  calls: ProviderCalls
  tokens: AccessTokens
  quota: MailboxQuota
  cloud: CloudRow
  /** The id or address of the mailbox. */
  mailboxId: string
  /** Milliseconds since 1970. */
  now: () => number
}

/** A call whose answer is still to be judged. */
type Opened = { status: number; refusal(): Promise<ProviderAnswer> }

export function openGraphApi(options: GraphClientOptions): GraphApi {
  return new GraphClient(options)
}

class GraphClient implements GraphApi {
  readonly #options: GraphClientOptions

  constructor(options: GraphClientOptions) {
    this.#options = options
  }

  get cloud(): CloudRow {
    return this.#options.cloud
  }

  now(): number {
    return this.#options.now()
  }

  secondsFor(calls: number): number {
    return this.#options.quota.secondsFor(calls)
  }

  ask<T>(request: GraphRequest<T>, options: AskOptions = {}): Promise<{ status: number; value: T }> {
    return this.#ask(this.#pathOf(request), request, options)
  }

  askRoot<T>(request: GraphRequest<T>, options: AskOptions = {}): Promise<{ status: number; value: T }> {
    return this.#ask(`${ROOT_PATH}${request.path}${writeQuery(request.query)}`, request, options)
  }

  async askAll<T>(
    requests: ReadonlyArray<GraphRequest<T>>,
    options: AskOptions = {},
  ): Promise<Array<PartOutcome<T>>> {
    if (requests.length > BATCH_PARTS_MAX) throw new Error(`More than ${BATCH_PARTS_MAX} parts`)
    const [only] = requests
    if (!only) return []
    if (requests.length === 1 || requests.some(({ body }) => body !== undefined))
      return this.#askEach(requests, options)
    await this.#options.quota.take(requests.length, options.urgency ?? 'prompt')
    const outcomes = new Map<number, PartOutcome<T>>()
    let left = requests.map((_, index) => index)
    let unavailable = 0
    while (left.length > 0) {
      const asked = left
      const answers = await this.#sendBatch(
        asked.map(index => requests[index]!),
        options,
      )
      for (const [part, answer] of answers) {
        const outcome = this.#outcomeOf(requests[asked[part]!]!, answer)
        if (outcome.failure?.kind === 'unavailable') unavailable += 1
        outcomes.set(asked[part]!, outcome)
      }
      left = asked.filter(index => !outcomes.has(index))
      const last = lastFailure(outcomes)
      if (answers.size === 0)
        throw new ProviderFailure('unavailable', 'Microsoft Graph answered no part of a batch.')
      if (last && (endsBatch(last) || unavailable > UNAVAILABLE_PARTS_MAX)) {
        const failure = restate(last, { isBeforeAcceptance: true })
        for (const index of left) outcomes.set(index, { value: null, failure })
        left = []
      }
    }
    return requests.map((_, index) => outcomes.get(index)!)
  }

  async follow<T>(
    link: string,
    schema: z.ZodType<T>,
    options: AskOptions & { prefer?: readonly string[]; answerBytesMax?: number } = {},
  ): Promise<T> {
    const { cloud, mailboxId } = this.#options
    const path = pathOfLink(link, cloud, mailboxId)
    const { prefer, answerBytesMax = PAGE_BYTES_MAX } = options
    const request: GraphRequest<T> = {
      path: '',
      schema,
      accepts: [200],
      answerBytesMax,
      ...(prefer && { prefer }),
    }
    return (await this.#ask(path, request, options)).value
  }

  async stream(path: string, options: AskOptions = {}): Promise<OpenAnswer> {
    const { calls, quota } = this.#options
    await quota.take(1, options.urgency ?? 'prompt')
    const slot = await quota.enter(options.urgency ?? 'prompt', options.signal)
    try {
      const call = {
        ...this.#callOf(this.#pathOf({ path }), { method: 'GET' }, options),
        answerBytesMax: STREAM_BYTES_MAX,
        wholeSeconds: STREAM_SECONDS,
      }
      const answer = await this.#authorized(call, options, async authorized => {
        const opened = await calls.open(authorized)
        return Object.assign(opened, { refusal: () => readRefusal(opened) })
      })
      if (answer.status !== 200) throw this.#failureOf(await answer.refusal(), false)
      const { status, headers, content } = answer
      return {
        status,
        headers,
        content,
        async [Symbol.asyncDispose]() {
          await answer[Symbol.asyncDispose]()
          slot[Symbol.dispose]()
        },
      }
    } catch (error) {
      slot[Symbol.dispose]()
      throw error
    }
  }

  putRange(uploadUrl: string, range: UploadRange, options: AskOptions = {}): Promise<number | null> {
    return this.#upload(uploadUrl, callOfRange(range), options)
  }

  findNextRange(uploadUrl: string, options: AskOptions = {}): Promise<number | null> {
    return this.#upload(uploadUrl, { method: 'GET' }, options)
  }

  async #upload(
    uploadUrl: string,
    call: Omit<ProviderCall, 'host' | 'path'>,
    options: AskOptions,
  ): Promise<number | null> {
    const { calls, quota, cloud } = this.#options
    const target = targetOfUpload(uploadUrl, cloud)
    await quota.take(1, options.urgency ?? 'prompt')
    using _slot = await quota.enter(options.urgency ?? 'prompt', options.signal)
    await options.beforeEffect?.()
    const answer = await calls.call({ ...target, ...call, signal: options.signal })
    if (!UPLOAD_STATUSES.has(answer.status)) throw this.#failureOf(answer, call.method !== 'GET')
    return nextRangeOf(answer)
  }

  async #askEach<T>(
    requests: ReadonlyArray<GraphRequest<T>>,
    options: AskOptions,
  ): Promise<Array<PartOutcome<T>>> {
    const outcomes: Array<PartOutcome<T>> = []
    for (const request of requests)
      try {
        outcomes.push({ value: (await this.ask(request, options)).value, failure: null })
      } catch (error) {
        if (!(error instanceof ProviderFailure) || error.isBusy) throw error
        outcomes.push({ value: null, failure: error })
      }
    return outcomes
  }

  async #sendBatch<T>(
    requests: ReadonlyArray<GraphRequest<T>>,
    options: AskOptions,
  ): Promise<Map<number, ProviderAnswer>> {
    const { quota } = this.#options
    using _slot = await quota.enter(options.urgency ?? 'prompt', options.signal)
    const parts = requests.map(request => ({
      method: request.method ?? 'GET',
      path: this.#pathOf(request),
      headers: headersOf(request),
      json: request.json,
    }))
    const call = {
      ...this.#callOf(BATCH_PATH, { method: 'POST' }, options),
      headers: { ...headersOf({}), 'content-type': 'application/json' },
      body: writeBatch(parts),
      isRepeatable: requests.every(({ method = 'GET' }) => method === 'GET'),
      answerBytesMax: BATCH_BYTES_MAX,
    }
    const answer = await this.#whole(call, options)
    if (answer.status !== 200) throw this.#failureOf(answer, !call.isRepeatable)
    return readBatch(answer.content, requests.length)
  }

  #outcomeOf<T>(request: GraphRequest<T>, answer: ProviderAnswer): PartOutcome<T> {
    try {
      if (!request.accepts.includes(answer.status)) throw this.#failureOf(answer, isWrite(request))
      return { value: readAnswer(request.schema, answer.content), failure: null }
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
      return { value: null, failure: error }
    }
  }

  async #ask<T>(
    path: string,
    request: GraphRequest<T>,
    options: AskOptions,
  ): Promise<{ status: number; value: T }> {
    const { quota } = this.#options
    await quota.take(1, options.urgency ?? 'prompt')
    using _slot = await quota.enter(options.urgency ?? 'prompt', options.signal)
    const answer = await this.#whole(this.#callOf(path, request, options), options)
    if (!request.accepts.includes(answer.status)) throw this.#failureOf(answer, isWrite(request))
    return { status: answer.status, value: readAnswer(request.schema, answer.content) }
  }

  async #whole(call: ProviderCall, options: AskOptions): Promise<ProviderAnswer> {
    const { calls } = this.#options
    return this.#authorized(call, options, async authorized => {
      const answer = await calls.call(authorized)
      return { ...answer, refusal: () => Promise.resolve(answer) }
    })
  }

  /** Sends a call with a token, and once more with another one if Graph refuses the first. */
  async #authorized<A extends Opened>(
    call: ProviderCall,
    { signal, beforeEffect }: AskOptions,
    send: (call: ProviderCall) => Promise<A>,
  ): Promise<A> {
    const { tokens } = this.#options
    const authorized = (secret: Secret) => ({
      ...call,
      headers: { ...call.headers, authorization: `Bearer ${secret.reveal()}` },
    })
    const token = await beforeAcceptance(() => tokens.get(signal))
    await beforeEffect?.()
    let sent = await send(authorized(token))
    if (sent.status !== 401) return sent
    await sent.refusal()
    const renewed = await beforeAcceptance(() => tokens.renew(token, signal))
    sent = await send(authorized(renewed))
    if (sent.status !== 401) return sent
    await sent.refusal()
    throw new ProviderFailure('access_refused', 'Microsoft Graph refuses the access token.')
  }

  /** The failure for an answer. Holds up all calls if a limit is reached. */
  #failureOf(answer: ProviderAnswer, mayHaveEffect: boolean): ProviderFailure {
    const failure = graphFailure(answer, this.now(), mayHaveEffect)
    if (failure.kind !== 'throttled') return failure
    return restate(failure, {
      retryAfterSeconds: this.#options.quota.refused(failure.retryAfterSeconds),
    })
  }

  #pathOf({ path, query }: Pick<GraphRequest<unknown>, 'path' | 'query'>): string {
    return `${ROOT_PATH}users/${segment(this.#options.mailboxId)}/${path}${writeQuery(query)}`
  }

  #callOf(
    path: string,
    request: Pick<
      GraphRequest<unknown>,
      'method' | 'json' | 'body' | 'prefer' | 'ifMatch' | 'answerBytesMax'
    >,
    { signal }: AskOptions,
  ): ProviderCall {
    const { method = 'GET', json, body, answerBytesMax } = request
    const content = json === undefined ? body?.bytes : JSON.stringify(json)
    const type = json === undefined ? body?.type : 'application/json'
    return {
      host: this.#options.cloud.graph,
      method,
      path,
      signal,
      headers: { ...headersOf(request), ...(type !== undefined && { 'content-type': type }) },
      ...(content !== undefined && { body: content }),
      ...(answerBytesMax !== undefined && { answerBytesMax }),
    }
  }
}

function headersOf({
  prefer = [],
  ifMatch,
}: Pick<GraphRequest<unknown>, 'prefer' | 'ifMatch'>): Record<string, string> {
  return {
    prefer: [IMMUTABLE_IDS, ...prefer].join(', '),
    'client-request-id': randomUUID(),
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
  }
}

function isWrite({ method = 'GET' }: GraphRequest<unknown>): boolean {
  return method !== 'GET'
}

/** Whether the other parts of a batch would fail for the same reason. */
function endsBatch(failure: ProviderFailure): boolean {
  return failure.kind === 'throttled' || isOfAccount(failure)
}

function lastFailure(outcomes: ReadonlyMap<number, PartOutcome<unknown>>): ProviderFailure | null {
  return [...outcomes.values()].findLast(({ failure }) => failure !== null)?.failure ?? null
}
