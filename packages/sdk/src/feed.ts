import type { Call, Download } from './call.ts'
import { failureOf } from './connection-failure.ts'
import { errorOf, WaxwingError } from './errors.ts'
import type { AnyEvent } from './events.ts'
import type { CallOptions } from './options.ts'
import { readAnswer } from './read-answer.ts'
import { headersOf, type Sender } from './send.ts'
import { type SseBlock, readBlocks } from './sse.ts'
import type { ChangeEventPage, ChangesListInput, EventData } from './types.ts'
import { pause, tied, underSignal } from './waits.ts'

/** Longer than the service is silent: a comment comes every 15 seconds. */
const SILENCE_MS = 30_000
const WAIT_SECONDS = 25
const PAUSE_MS = { first: 1000, most: 30_000 }
/** A longer `Retry-After` is not waited for in full: events would be late by as much. */
const RETRY_AFTER_MS_MAX = 60_000
/** A proxy on the way keeps the stream back: pages come through. */
const SILENT_STREAMS_MAX = 2

/** The part of the feed that is wanted. */
export interface StreamInput {
  /** The `nextCursor` of a page, after which the stream begins. Without it, the stream begins with the events to come. */
  cursor?: string
  /** Only events of these types. */
  types?: (keyof EventData)[]
}

/** The place in which a program keeps its position in the feed. */
export interface Position {
  /** The cursor that was saved last; null or undefined begins with the events to come. */
  load(): Promise<string | null | undefined> | string | null | undefined
  save(cursor: string): Promise<unknown> | unknown
}

export interface FollowInput {
  /** Only events of these types. */
  types?: (keyof EventData)[]
}

export interface Feed {
  /**
   * Events as they happen, until the signal aborts or the loop is left. Comes back after a break where it was, and gives
   * no event twice. A program that must not miss what happens while it is not running uses `follow`.
   * @throws WaxwingError if the key has ended, or with `invalid_cursor` if the database was restored
   */
  stream(input?: StreamInput, options?: CallOptions): AsyncGenerator<AnyEvent, void, undefined>
  /**
   * Hands each event to the handler, in order, and saves the position after each page whose events were handled. After a
   * crash, those of the last page come again: their ids tell. Ends when the signal aborts, or with the handler’s error.
   * @throws WaxwingError with `invalid_cursor` after the service’s database was restored to an earlier state: compare your
   *   data with the lists, then begin without a saved cursor
   */
  follow(
    position: Position,
    handler: (event: AnyEvent) => Promise<unknown> | unknown,
    input?: FollowInput,
    options?: CallOptions,
  ): Promise<void>
}

type ListChanges = (input?: ChangesListInput, options?: CallOptions) => Call<ChangeEventPage>

export function feedOf(list: ListChanges, { baseUrl, sender }: { baseUrl: string; sender: Sender }): Feed {
  /** Pages from a cursor on, without an end. Passing trouble is waited for. */
  async function* pagesFrom(
    cursor: string | null | undefined,
    types: StreamInput['types'],
    options: CallOptions,
  ): AsyncGenerator<ChangeEventPage, void, undefined> {
    const { signal } = options
    let failures = 0
    for (;;) {
      if (signal?.aborted) return
      let page: ChangeEventPage
      try {
        page = await list(questionAt(cursor, types), options)
      } catch (error) {
        if (signal?.aborted) return
        if (!isPassing(error)) throw error
        await pause(pauseMs(error, failures++), signal).catch(() => {})
        continue
      }
      failures = 0
      yield page
      cursor = page.nextCursor
    }
  }

  async function follow(
    { load, save }: Position,
    handler: (event: AnyEvent) => Promise<unknown> | unknown,
    { types }: FollowInput = {},
    options: CallOptions = {},
  ) {
    let cursor = await load()
    for await (const { items, nextCursor } of pagesFrom(cursor, types, options)) {
      for (const event of items) {
        if (options.signal?.aborted) return
        await handler(event)
      }
      if (nextCursor !== cursor) await save(nextCursor)
      cursor = nextCursor
    }
  }

  async function* stream(
    { cursor: given, types }: StreamInput = {},
    options: CallOptions = {},
  ): AsyncGenerator<AnyEvent, void, undefined> {
    const { signal } = options
    let lastId: string | undefined
    let failures = 0
    let silent = 0
    let hasNextKey = sender.hasNextKey
    // A position before the first connection: what happens until it is made is not missed.
    const cursor = given ?? (await beginning(options))
    while (silent < SILENT_STREAMS_MAX) {
      const leaving = new AbortController()
      try {
        for await (const { id, data } of connect({ cursor, types, lastId }, options, leaving)) {
          if (signal?.aborted) return
          const event = data === undefined ? undefined : parseEvent(data)
          failures = 0
          hasNextKey = sender.hasNextKey
          if (event && isLater(event.id, lastId)) yield event
          if (id !== undefined && isLater(id, lastId)) lastId = id
        }
        // The service ends a stream after an hour, and when it stops.
        silent = 0
        await pause(PAUSE_MS.first, signal).catch(() => {})
      } catch (error) {
        if (signal?.aborted) return
        if (isStatus(error, 401) && hasNextKey) {
          hasNextKey = false
        } else {
          if (!isPassing(error)) throw error
          silent = error.code === 'timeout' ? silent + 1 : 0
          await pause(pauseMs(error, failures++), signal).catch(() => {})
        }
      } finally {
        leaving.abort()
      }
      if (signal?.aborted) return
    }
    for await (const { items } of pagesFrom(cursor, types, options))
      for (const event of items) {
        if (signal?.aborted) return
        if (isLater(event.id, lastId)) yield event
      }
  }

  /** The cursor of the events to come; undefined if the signal aborts before. */
  async function beginning(options: CallOptions): Promise<string | undefined> {
    for await (const { nextCursor } of pagesFrom(null, undefined, options)) return nextCursor
    return undefined
  }

  /** One connection, until it ends or is silent for too long. */
  async function* connect(
    { cursor, types = [], lastId }: StreamInput & { lastId: string | undefined },
    options: CallOptions,
    leaving: AbortController,
  ): AsyncGenerator<SseBlock> {
    const query = new URLSearchParams(cursor === undefined ? {} : { cursor })
    for (const type of types) query.append('types', type)
    const silence = underSignal(tied(options.signal, leaving.signal), SILENCE_MS)
    try {
      const headers = await headersOf(sender, options.headers, silence)
      headers.set('accept', 'text/event-stream')
      if (lastId !== undefined) headers.set('last-event-id', lastId)
      const url = `${baseUrl}/v1/changes/stream?${query}`
      const response = await sender.fetch(url, { headers, redirect: 'manual', signal: silence.signal })
      const answer = await readAnswer(
        response,
        { ...STREAM_REQUEST, url },
        { signal: silence.signal, end() {} },
      )
      const { stream: bytes, contentType } = answer.body as Download
      if (!contentType?.startsWith('text/event-stream')) {
        await bytes.cancel()
        const message = 'The answer is no stream of events.'
        throw errorOf({
          code: 'unreadable_answer',
          message,
          status: answer.status,
          outcome: 'not_applied',
        })
      }
      yield* readBlocks(bytes, silence.renew)
    } catch (error) {
      if (silence.isOver) throw failureOf(error, true)
      throw error instanceof WaxwingError ? error : failureOf(error, false)
    } finally {
      silence.end()
    }
  }

  return { stream, follow }
}

const STREAM_REQUEST = {
  method: 'GET',
  name: 'GET /v1/changes/stream',
  body: undefined,
  mayHalfApply: false,
  takesKey: false,
  isDownload: true,
  waitMs: 0,
}

function questionAt(cursor: string | null | undefined, types: StreamInput['types']): ChangesListInput {
  const filter = types === undefined ? {} : { types }
  if (cursor === null || cursor === undefined) return { ...filter, start: 'now' }
  return { ...filter, cursor, limit: 200, waitSeconds: WAIT_SECONDS }
}

/** @throws WaxwingError if the text is no JSON: the stream then connects again, and goes on after the last good event */
function parseEvent(data: string): AnyEvent {
  try {
    return JSON.parse(data) as AnyEvent
  } catch (cause) {
    const message = 'The stream has an event that cannot be read.'
    throw errorOf({ code: 'unreadable_answer', message, outcome: 'not_applied', cause })
  }
}

/** Ids are positions, in decimal digits. */
function isLater(id: string, lastId: string | undefined): boolean {
  if (!/^\d+$/.test(id)) return false
  return lastId === undefined || BigInt(id) > BigInt(lastId)
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof WaxwingError && error.status === status
}

/** Trouble that passes, unlike a key that has ended or a cursor of a database that was restored. */
function isPassing(error: unknown): error is WaxwingError {
  if (!(error instanceof WaxwingError)) return false
  const { status = 500, code } = error
  return code !== 'redirected' && (status >= 500 || status === 429 || code === 'unreadable_answer')
}

function pauseMs({ retryAfterSeconds }: WaxwingError, failures: number): number {
  // A program that follows goes on as soon as it may.
  if (retryAfterSeconds !== undefined) return Math.min(retryAfterSeconds * 1000, RETRY_AFTER_MS_MAX)
  return PAUSE_MS.first + Math.random() * Math.min(PAUSE_MS.most, PAUSE_MS.first * 2 ** failures)
}
