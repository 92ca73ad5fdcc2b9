import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { CommandError } from '../command-error.ts'
import { reasonOf } from './reason-of.ts'

const WAIT_SECONDS = 25
/** Longer than the service waits. */
const ANSWER_SECONDS_MAX = 40
const EVENTS_PER_PAGE = 200
const PAUSE_SECONDS = { min: 1, max: 30 }

const event = z.object({ id: z.string(), type: z.string(), createdAt: z.string() })
const page = z.object({ items: z.array(event), nextCursor: z.string() })
const refusal = z.object({ code: z.string(), message: z.string() })

interface FeedEvent extends z.infer<typeof event> {
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
  const { signal, onBegun, onTrouble } = options
  let cursor: string | null = null
  let hasBegun = false
  let failures = 0
  while (!signal.aborted) {
    const read: Read = await readPage(options, cursor)
    if (signal.aborted) return
    if (read.type === 'page') {
      if (!hasBegun) onBegun()
      hasBegun = true
      failures = 0
      cursor = read.page.nextCursor
      yield* read.page.items
      continue
    }
    if (read.isFinal || (!hasBegun && !read.isBusy)) throw new CommandError(read.message)
    if (read.isCursorVoid) cursor = null
    const pause = read.retrySeconds ?? Math.min(PAUSE_SECONDS.max, PAUSE_SECONDS.min * 2 ** failures++)
    onTrouble(`${read.message} Trying again in ${pause} s.`)
    await sleep(pause * 1_000, null, { signal }).catch(() => null)
  }
}

interface Trouble {
  type: 'trouble'
  message: string
  /** Asking again would not help. */
  isFinal: boolean
  /** The service is there, and answers later. */
  isBusy: boolean
  /** The database was restored: only the events from now on can be read. */
  isCursorVoid: boolean
  retrySeconds: number | null
}

type Read = { type: 'page'; page: { items: FeedEvent[]; nextCursor: string } } | Trouble

async function readPage({ baseUrl, key, signal }: FeedOptions, cursor: string | null): Promise<Read> {
  const url = new URL(`${baseUrl.href.replace(/\/$/, '')}/v1/changes`)
  url.searchParams.set('limit', String(EVENTS_PER_PAGE))
  if (cursor === null) url.searchParams.set('start', 'now')
  else {
    url.searchParams.set('cursor', cursor)
    url.searchParams.set('waitSeconds', String(WAIT_SECONDS))
  }
  const trouble = {
    type: 'trouble',
    isFinal: false,
    isBusy: false,
    isCursorVoid: false,
    retrySeconds: null,
  } as const
  try {
    const answer = await fetch(url, {
      headers: { authorization: `Bearer ${key}` },
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_SECONDS_MAX * 1_000)]),
    })
    const text = await answer.text()
    const body = parseJson(text)
    const parsed = page.safeParse(body)
    if (answer.ok && parsed.success) {
      const texts = itemTexts(text)
      const items = parsed.data.items.map((item, index) => ({ ...item, text: texts[index] ?? '' }))
      return { type: 'page', page: { items, nextCursor: parsed.data.nextCursor } }
    }
    const { data: refused } = refusal.safeParse(body)
    if (!refused)
      return { ...trouble, message: `${baseUrl.origin} answers ${answer.status}, and not as Waxwing does.` }
    const retrySeconds = Number(answer.headers.get('retry-after')) || null
    return { ...trouble, ...judge(refused, answer.status, baseUrl), retrySeconds }
  } catch (error) {
    const message = `${baseUrl.origin} cannot be reached: ${reasonOf(error)}.`
    return {
      ...trouble,
      message:
        cursor === null ? `${message} Is the service running? Name its address with --base-url.` : message,
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The texts of the objects in the list of a page, which is valid JSON. Nothing else in a page is as deep. */
function itemTexts(pageText: string): string[] {
  const texts: string[] = []
  let depth = 0
  let begin = 0
  for (const { 0: token, index } of pageText.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token === '{' || token === '[') {
      if (depth === 2) begin = index
      depth++
    } else if (token === '}' || token === ']') {
      depth--
      if (depth === 2) texts.push(pageText.slice(begin, index + 1))
    }
  }
  return texts
}

function judge(
  { code, message }: z.infer<typeof refusal>,
  status: number,
  baseUrl: URL,
): Pick<Trouble, 'message' | 'isFinal' | 'isBusy' | 'isCursorVoid'> {
  const isCursorVoid = code === 'invalid_cursor'
  const isBusy = status === 429 || status >= 500
  if (status === 401)
    return {
      message: `${baseUrl.origin} does not accept the API key. Make one with "waxwing key create --scopes read".`,
      isFinal: true,
      isBusy,
      isCursorVoid,
    }
  const isFinal = !isBusy && !isCursorVoid
  return { message: `${baseUrl.origin} answers ${status} ${code}: ${message}`, isFinal, isBusy, isCursorVoid }
}
