import { setTimeout as sleep } from 'node:timers/promises'
import { itemTexts, Waxwing, WaxwingError } from '@waxwing/sdk/index.ts'
import { z } from 'zod'
import { CommandError } from '../command-error.ts'
import { reasonOf } from './reason-of.ts'

const WAIT_SECONDS = 25
/** Beside `WAIT_SECONDS`. */
const ANSWER_SECONDS_MAX = 15
const EVENTS_PER_PAGE = 200
const PAUSE_SECONDS = { min: 1, max: 30 }

const feedEvent = z.object({ id: z.string(), type: z.string(), createdAt: z.string() })
const feedPage = z.object({ items: z.array(feedEvent), nextCursor: z.string() })

interface FeedEvent extends z.infer<typeof feedEvent> {
  /** The event as the service wrote it, byte for byte. */
  text: string
}

export interface FeedOptions {
  baseUrl: URL
  key: string
  signal: AbortSignal
  /** Called once the service has accepted the key. */
  onBegun(): void
  /** Called with a line for people whenever the feed cannot be read for the moment. */
  onTrouble(line: string): void
}

/**
 * The events of the feed from now on, until the signal aborts. Waits and asks again while the service cannot be reached.
 * @throws CommandError if the service cannot be reached at first, or refuses the key at any time
 */
export async function* followFeed(options: FeedOptions): AsyncGenerator<FeedEvent> {
  const { baseUrl, key, signal, onBegun, onTrouble } = options
  // Each failure is told, so the client does not try again by itself.
  const waxwing = new Waxwing({ baseUrl, key, retries: 0, timeoutMs: ANSWER_SECONDS_MAX * 1_000 })
  let cursor: string | null = null
  let hasBegun = false
  let failures = 0
  while (!signal.aborted) {
    try {
      const page = await readPage(waxwing, cursor, signal)
      if (!hasBegun) onBegun()
      hasBegun = true
      failures = 0
      cursor = page.nextCursor
      yield* page.items
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof WaxwingError)) throw error
      const trouble = judge(error, baseUrl, hasBegun)
      if (trouble.isFinal || (!hasBegun && !trouble.isBusy)) throw new CommandError(trouble.message)
      // The database was restored: only the events from now on can be read.
      if (error.code === 'invalid_cursor') cursor = null
      const pause =
        error.retryAfterSeconds || Math.min(PAUSE_SECONDS.max, PAUSE_SECONDS.min * 2 ** failures++)
      onTrouble(`${trouble.message} Trying again in ${pause} s.`)
      await sleep(pause * 1_000, null, { signal }).catch(() => null)
    }
  }
}

async function readPage(
  waxwing: Waxwing,
  cursor: string | null,
  signal: AbortSignal,
): Promise<{ items: FeedEvent[]; nextCursor: string }> {
  const from = cursor === null ? { start: 'now' as const } : { cursor, waitSeconds: WAIT_SECONDS }
  const answer = await waxwing.changes.list({ limit: EVENTS_PER_PAGE, ...from }, { signal }).withResponse()
  const { data, error } = feedPage.safeParse(answer.body)
  const texts = itemTexts(answer)
  if (error || texts.length !== data.items.length) {
    const message = error?.message ?? 'The items of the page cannot be told apart.'
    const facts = { code: 'unreadable_answer', message, status: answer.status }
    throw new WaxwingError({ ...facts, outcome: 'not_applied' })
  }
  const items = data.items.map((item, index) => ({ ...item, text: texts[index]! }))
  return { items, nextCursor: data.nextCursor }
}

interface Trouble {
  message: string
  /** Asking again would not help. */
  isFinal: boolean
  /** The service is there, and answers later. */
  isBusy: boolean
}

function judge(error: WaxwingError, { origin }: URL, hasBegun: boolean): Trouble {
  const { status, code, message } = error
  if (status === undefined) {
    const why = code === 'timeout' ? 'no answer came in time' : reasonOf(error.cause)
    const told = `${origin} cannot be reached: ${why}.`
    const hint = ' Is the service running? Name its address with --base-url.'
    return { message: hasBegun ? told : told + hint, isFinal: false, isBusy: false }
  }
  if (code === 'unreadable_answer' || code === 'redirected')
    return {
      message: `${origin} answers ${status}, and not as Waxwing does.`,
      isFinal: false,
      isBusy: false,
    }
  if (status === 401)
    return {
      message: `${origin} does not accept the API key. Make one with "waxwing key create --scopes read".`,
      isFinal: true,
      isBusy: false,
    }
  const isBusy = status === 429 || status >= 500
  return {
    message: `${origin} answers ${status} ${code}: ${message}`,
    isFinal: !isBusy && code !== 'invalid_cursor',
    isBusy,
  }
}
