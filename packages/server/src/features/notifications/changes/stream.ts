import type { FeedWaiter } from './feed-watch.ts'
import type { FeedItem, FeedPage } from './store.ts'

/** Events that are held for a client that reads slowly, at most. */
export const STREAM_PAGE_EVENTS = 100
const PACE: StreamPace = { commentMilliseconds: 15_000, streamMilliseconds: 3_600_000 }
/** Time that a client waits before it connects again. */
const RECONNECT_MILLISECONDS = 1_000

/** Tests are more impatient. */
export interface StreamPace {
  /** Between comments, while there is nothing else to send. */
  commentMilliseconds: number
  /** Time after which a stream ends. */
  streamMilliseconds: number
}

export interface StreamedFeed {
  waiter: FeedWaiter
  /** The first page. */
  page: FeedPage
  /** Whether events are left out, so that the position moves without any being sent. */
  isFiltered: boolean
  /** Ends the stream. */
  ended: AbortSignal
  pace?: StreamPace
}

/**
 * The texts of an event stream: the feed from the first page on. Ends after an hour, by the signal, and when the database
 * was restored to an earlier state: the client that comes again then learns of it.
 */
export async function* streamFeed(feed: StreamedFeed): AsyncGenerator<string, void, undefined> {
  const { waiter, isFiltered, ended, pace = PACE } = feed
  const until = performance.now() + pace.streamMilliseconds
  const { epoch } = feed.page
  let { page } = feed
  let commentAt = performance.now() + pace.commentMilliseconds
  yield `retry: ${RECONNECT_MILLISECONDS}\n\n`
  while (!ended.aborted && page.epoch === epoch && performance.now() < until) {
    const isComment = page.items.length === 0 && performance.now() >= commentAt
    if (page.items.length > 0) yield page.items.map(textOf).join('')
    if (isComment) yield commentOf(isFiltered ? page.readUpTo : '0')
    if (page.items.length > 0 || isComment) commentAt = performance.now() + pace.commentMilliseconds
    if (!page.hasMore) await waiter.pause(Math.min(commentAt, until) - performance.now(), ended)
    if (ended.aborted) return
    page = await waiter.read(page.readUpTo, STREAM_PAGE_EVENTS)
  }
}

function textOf({ id, type, json }: FeedItem): string {
  return `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`
}

/** A comment, with the position of the reader unless that is the beginning. */
function commentOf(id: string): string {
  return id === '0' ? ': waiting\n\n' : `: waiting\nid: ${id}\n\n`
}
