import type { Call, Download } from './call.ts'
import { errorOf, WaxwingError } from './errors.ts'
import type { AnyEvent } from './events.ts'
import type { CallOptions } from './options.ts'
import { readAnswer } from './read-answer.ts'
import type { Sender } from './send.ts'
import { type SseBlock, readBlocks } from './sse.ts'
import type { ChangeEventPage, ChangesListInput, EventData } from './types.ts'
import { failureOf, pause, underSignal } from './waits.ts'

/** Longer than the service is silent: a comment comes every 15 seconds. */
const SILENCE_MS = 30_000
const WAIT_SECONDS = 25
const PAUSE_MS = { first: 1000, most: 30_000 }
/** A proxy on the way keeps the stream back: pages come through. */
const SILENT_STREAMS_MAX = 2

/** The part of the feed that is wanted. */
export interface StreamInput {
  /** Where a page ended. Without it, from now on. */
  cursor?: string
  /** Only events of these types. */
  types?: (keyof EventData)[]
}

/** Where a program keeps its position. */
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
  async function follow(
    { load, save }: Position,
    handler: (event: AnyEvent) => Promise<unknown> | unknown,
    { types }: FollowInput = {},
    options: CallOptions = {},
  ) {
    const { signal } = options
    let cursor = await load()
    let failures = 0
    for (;;) {
      if (signal?.aborted) return
      const page: ChangeEventPage | null = await list(questionAt(cursor, types), options).catch(
        async (error: unknown) => {
          if (signal?.aborted) return null
          if (!isPassing(error)) throw error
          await pause(pauseMs(error, failures++), signal).catch(() => {})
          return null
        },
      )
      if (page === null) continue
      failures = 0
      for (const event of page.items) await handler(event as AnyEvent)
      if (page.nextCursor !== cursor) await save((cursor = page.nextCursor))
    }
  }

  async function* pages(cursor: string | undefined, { types }: StreamInput, options: CallOptions) {
    let failures = 0
    for (;;) {
      try {
        const page: ChangeEventPage = await list(questionAt(cursor, types), options)
        failures = 0
        cursor = page.nextCursor
        yield* page.items as AnyEvent[]
      } catch (error) {
        if (options.signal?.aborted) return
        if (!isPassing(error)) throw error
        await pause(pauseMs(error, failures++), options.signal).catch(() => {})
      }
    }
  }

  async function* stream(
    input: StreamInput = {},
    options: CallOptions = {},
  ): AsyncGenerator<AnyEvent, void, undefined> {
    const { signal } = options
    // A position before the first connection: what happens until it is made is not missed.
    let cursor = input.cursor ?? (await list({ start: 'now' }, options)).nextCursor
    let lastId: string | undefined
    let failures = 0
    let silent = 0
    for (;;) {
      if (signal?.aborted) return
      const leaving = new AbortController()
      try {
        for await (const block of connect({ ...input, cursor }, lastId, options, leaving)) {
          failures = 0
          silent = 0
          if (block.data !== undefined && isLater(block.id, lastId)) yield JSON.parse(block.data) as AnyEvent
          lastId = block.id ?? lastId
        }
        // The service ends a stream after an hour, and when it stops.
        await pause(PAUSE_MS.first, signal).catch(() => {})
      } catch (error) {
        if (signal?.aborted) return
        if (!isPassing(error)) throw error
        if (error.code === 'timeout' && lastId === undefined && ++silent === SILENT_STREAMS_MAX) {
          return yield* pages(cursor, input, options)
        }
        await pause(pauseMs(error, failures++), signal).catch(() => {})
      } finally {
        leaving.abort()
      }
    }
  }

  /** One connection, until it ends or is silent for too long. */
  async function* connect(
    { cursor, types }: StreamInput,
    lastId: string | undefined,
    options: CallOptions,
    leaving: AbortController,
  ): AsyncGenerator<SseBlock> {
    const query = new URLSearchParams(cursor === undefined ? {} : { cursor })
    for (const type of types ?? []) query.append('types', type)
    const bearer = await sender.key()
    const headers = new Headers({ ...sender.headers, ...options.headers, accept: 'text/event-stream' })
    if (bearer !== undefined) headers.set('authorization', `Bearer ${bearer}`)
    if (lastId !== undefined) headers.set('last-event-id', lastId)
    const outer = options.signal ? AbortSignal.any([options.signal, leaving.signal]) : leaving.signal
    const silence = underSignal(outer, SILENCE_MS)
    try {
      const url = `${baseUrl}/v1/changes/stream?${query}`
      const response = await sender.fetch(url, { headers, redirect: 'manual', signal: silence.signal })
      const request = { method: 'GET', url, body: undefined, takesKey: false, isDownload: true, waitMs: 0 }
      const answer = await readAnswer(response, request)
      if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
        throw errorOf({
          code: 'unreadable_answer',
          message: 'The answer is no stream of events.',
          status: answer.status,
          outcome: 'not_applied',
        })
      }
      for await (const block of readBlocks((answer.body as Download).stream, silence.renew)) yield block
    } catch (error) {
      if (error instanceof WaxwingError) throw error
      options.signal?.throwIfAborted()
      throw failureOf(error, silence.isOver)
    } finally {
      silence.end(false)
    }
  }

  return { stream, follow }
}

function questionAt(cursor: string | null | undefined, types: StreamInput['types']): ChangesListInput {
  const filter = types === undefined ? {} : { types }
  if (cursor === null || cursor === undefined) return { ...filter, start: 'now' }
  return { ...filter, cursor, limit: 200, waitSeconds: WAIT_SECONDS }
}

/** Ids are positions, in decimal digits. */
function isLater(id: string | undefined, lastId: string | undefined): boolean {
  return id === undefined || lastId === undefined || BigInt(id) > BigInt(lastId)
}

/** Trouble that passes, unlike a key that has ended or a cursor of a database that was restored. */
function isPassing(error: unknown): error is WaxwingError {
  if (!(error instanceof WaxwingError)) return false
  const { status = 500, code } = error
  return code !== 'redirected' && (status >= 500 || status === 429 || code === 'unreadable_answer')
}

function pauseMs({ retryAfterSeconds }: WaxwingError, failures: number): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1000
  return PAUSE_MS.first + Math.random() * Math.min(PAUSE_MS.most, PAUSE_MS.first * 2 ** failures)
}
