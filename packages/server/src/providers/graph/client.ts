import type { z } from 'zod'
import { ProviderFailure } from '../failure.ts'
import { readAnswer } from '../http/answers.ts'
import type { OpenAnswer } from '../http/exchange.ts'
import type { ProviderCall } from '../http/provider-calls.ts'
import type { CloudRow } from '../microsoft/clouds.ts'
import {
  type AskOptions,
  BATCH_PARTS_MAX,
  type GraphApi,
  type GraphRequest,
  type PartOutcome,
  type UploadRange,
  writeQuery,
} from './api.ts'
import { askBatch } from './ask-batch.ts'
import { GraphCalls, type GraphClientOptions, isWrite, ROOT_PATH } from './graph-calls.ts'
import { pathOfLink, targetOfUpload } from './links.ts'
import { callOfRange, nextRangeOf } from './upload-ranges.ts'

/** A page of 1,000 messages with all that the index shows of them. */
const PAGE_BYTES_MAX = 32 * 1024 * 1024
/** The longest message that Exchange can be set to accept. */
const STREAM_BYTES_MAX = 160 * 1024 * 1024
const STREAM_SECONDS = 600
/** The slot of a reader that pauses for longer in all is given to other calls. */
const UNREAD_SECONDS = 20
const UPLOAD_STATUSES = new Set([200, 201, 202])

export function openGraphApi(options: GraphClientOptions): GraphApi {
  return new GraphClient(options)
}

class GraphClient implements GraphApi {
  readonly #calls: GraphCalls

  constructor(options: GraphClientOptions) {
    this.#calls = new GraphCalls(options)
  }

  get cloud(): CloudRow {
    return this.#calls.options.cloud
  }

  now(): number {
    return this.#calls.options.now()
  }

  secondsFor(calls: number): number {
    return this.#calls.options.quota.secondsFor(calls)
  }

  ask<T>(request: GraphRequest<T>, options: AskOptions = {}): Promise<{ status: number; value: T }> {
    return this.#ask(this.#calls.pathOf(request), request, options)
  }

  askRoot<T>(request: GraphRequest<T>, options: AskOptions = {}): Promise<{ status: number; value: T }> {
    return this.#ask(`${ROOT_PATH}${request.path}${writeQuery(request.query)}`, request, options)
  }

  async askAll<T>(
    requests: ReadonlyArray<GraphRequest<T>>,
    options: AskOptions = {},
  ): Promise<Array<PartOutcome<T>>> {
    if (requests.length > BATCH_PARTS_MAX) throw new Error(`More than ${BATCH_PARTS_MAX} parts`)
    const isAlone = requests.length <= 1 || requests.some(({ body }) => body !== undefined)
    return isAlone ? this.#askEach(requests, options) : askBatch(this.#calls, requests, options)
  }

  requireOwn(link: string): void {
    const { cloud, mailboxId } = this.#calls.options
    pathOfLink(link, cloud, mailboxId)
  }

  async follow<T>(
    link: string,
    schema: z.ZodType<T>,
    options: AskOptions & { prefer?: readonly string[]; answerBytesMax?: number } = {},
  ): Promise<T> {
    const { cloud, mailboxId } = this.#calls.options
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
    // A reader may be slow, so that one slot is left to new mail.
    const slot = await this.#calls.enter(1, options, 'background')
    try {
      const answer = await this.#calls.open(
        {
          ...this.#calls.callOf(this.#calls.pathOf({ path }), {}, options),
          answerBytesMax: STREAM_BYTES_MAX,
          wholeSeconds: STREAM_SECONDS,
          unreadSeconds: UNREAD_SECONDS,
        },
        options,
      )
      void answer.received.then(() => slot[Symbol.dispose]())
      return answer
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
    const { calls, cloud } = this.#calls.options
    const target = targetOfUpload(uploadUrl, cloud)
    using _slot = await this.#calls.enter(1, options)
    await options.beforeEffect?.()
    const answer = await calls.call({ ...target, ...call, signal: options.signal })
    if (!UPLOAD_STATUSES.has(answer.status)) throw this.#calls.failureOf(answer, call.method !== 'GET')
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

  async #ask<T>(
    path: string,
    request: GraphRequest<T>,
    options: AskOptions,
  ): Promise<{ status: number; value: T }> {
    using _slot = await this.#calls.enter(1, options)
    const answer = await this.#calls.whole(this.#calls.callOf(path, request, options), options)
    if (!request.accepts.includes(answer.status)) throw this.#calls.failureOf(answer, isWrite(request))
    return { status: answer.status, value: readAnswer('Microsoft Graph', request.schema, answer.content) }
  }
}
