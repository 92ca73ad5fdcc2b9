import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientRun } from './client-run.ts'

const ANSWER_SECONDS_MAX = 15
const AGAIN_MILLISECONDS = 200
/** The status of a cursor or an id from before a failover (`invalid_cursor`). */
const REFUSED = 400

/** How far a reader has come. */
export interface Position {
  lastId: string | null
  cursor: string | null
}

type ReadOnce = (run: ClientRun, address: string, position: Position) => Promise<void>

/** Reads the feed from its beginning, a page at a time. */
const poll: ReadOnce = (run, address, position) => readPage(run, address, position, '')
/** The same, but waits where there is nothing. */
const wait: ReadOnce = (run, address, position) => readPage(run, address, position, '&waitSeconds=5')

/** Reads the stream of events until it breaks. */
const stream: ReadOnce = async (run, address, position) => {
  const { bed, signal, history, name } = run
  const { lastId } = position
  const answer = await fetch(`${address}/v1/changes/stream`, {
    headers: { authorization: `Bearer ${bed.key}`, ...(lastId === null ? {} : { 'last-event-id': lastId }) },
    signal,
  })
  if (answer.status === REFUSED) return readAgain(run, address, position)
  if (!answer.ok || !answer.body) throw new Error(`not streamed: ${answer.status}`)
  let text = ''
  const events = answer.body.pipeThrough(new TextDecoderStream())
  const quiet = new AbortController()
  let timer = setTimeout(() => quiet.abort(), 2 * ANSWER_SECONDS_MAX * 1_000)
  try {
    // A stream sends something every 15 seconds. A stream that does not may come from a process that is stopped.
    for await (const chunk of withSignal(events, quiet.signal)) {
      clearTimeout(timer)
      timer = setTimeout(() => quiet.abort(), 2 * ANSWER_SECONDS_MAX * 1_000)
      const from = Date.now()
      const blocks = (text + chunk).split('\n\n')
      text = blocks.pop() ?? ''
      const ids = blocks.flatMap(block => /^id: (\d+)$/m.exec(block)?.slice(1) ?? [])
      position.lastId = ids.at(-1) ?? position.lastId
      if (ids.length > 0) history.add({ type: 'page', reader: name, from, at: Date.now(), ids })
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Reads from the beginning what came after the last event, since a failover began a new history of the feed. */
async function readAgain(run: ClientRun, address: string, position: Position): Promise<void> {
  position.cursor = null
  let before: string | null
  do {
    before = position.cursor
    await readPage(run, address, position, '')
  } while (position.cursor !== before)
}

async function* withSignal(chunks: ReadableStream<string>, signal: AbortSignal): AsyncGenerator<string> {
  const reader = chunks.getReader()
  const ended = new Promise<null>(resolve => signal.addEventListener('abort', () => resolve(null)))
  try {
    for (;;) {
      const read = await Promise.race([reader.read(), ended])
      if (read === null || read.done) return
      yield read.value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

async function readPage(
  { bed, signal, history, name }: ClientRun,
  address: string,
  position: Position,
  query: string,
): Promise<void> {
  const from = Date.now()
  const cursor = position.cursor === null ? '' : `&cursor=${encodeURIComponent(position.cursor)}`
  const answer = await fetch(`${address}/v1/changes?limit=50${query}${cursor}`, {
    headers: { authorization: `Bearer ${bed.key}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_SECONDS_MAX * 1_000)]),
  })
  if (answer.status === REFUSED) position.cursor = null
  if (!answer.ok) throw new Error(`not read: ${answer.status}`)
  const page = (await answer.json()) as { items: Array<{ id: string }>; nextCursor: string }
  const { lastId } = position
  const ids = page.items.map(({ id }) => id).filter(id => lastId === null || BigInt(id) > BigInt(lastId))
  position.lastId = ids.at(-1) ?? position.lastId
  position.cursor = page.nextCursor
  if (ids.length > 0) history.add({ type: 'page', reader: name, from, at: Date.now(), ids })
  else if (query === '') await sleep(AGAIN_MILLISECONDS)
}

/** The readers of a run, by name. */
export const FEED_READERS: Readonly<Record<string, ReadOnce>> = { poller: poll, waiter: wait, stream }

/** Reads until the run is over, and continues after each failure where it was. */
export async function readFeedForever(run: ClientRun, readOnce: ReadOnce, position: Position): Promise<void> {
  while (!run.signal.aborted) {
    const addresses = run.bed.addresses()
    const read = addresses.length > 0 && readOnce(run, run.random.pick(addresses), position)
    await Promise.resolve(read).catch(() => sleep(AGAIN_MILLISECONDS))
    if (read === false) await sleep(AGAIN_MILLISECONDS)
  }
}
