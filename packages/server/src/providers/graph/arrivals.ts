import type { ArrivedStep, Cursor, FollowOptions, SourceStep } from '../mail.ts'
import { arrivedStep } from './changes.ts'
import {
  FIRST_POSITION,
  type FolderCursor,
  type FolderListing,
  isFirst,
  reachesBack,
  readCursor,
} from './cursor.ts'
import { fetchMessages } from './fetch.ts'
import type { GraphConnection } from './graph-connection.ts'
import { listWhole, type WholePage } from './list-whole.ts'
import { findAgain } from './unfound.ts'
import { walkFolder } from './walk.ts'

/** The newest messages come before the whole folder is walked through. */
const NEWEST = 500
const LISTED_PER_PAGE = 250
/** While changes are not known, this many of the newest messages are looked at, so that new mail is not among them. */
const PEEKED = 50
/** Pages of one list that are read in a pass. The next pass goes on from there. */
const PAGES_MAX = 10_000

/**
 * `MailProvider.arrivals`: messages to be tried again; if the changes of the folder are not known, new mail; then the
 * newest messages of a folder that was never read, the walk through all of it, and the older messages of the window.
 */
export async function* bringMessages(
  connection: GraphConnection,
  source: string,
  options: FollowOptions,
): AsyncGenerator<SourceStep, void, void> {
  let cursor = readCursor(options.cursor)
  if (!cursor) return
  const { signal } = options
  const since = options.since?.getTime() ?? null
  if (options.retry.length > 0) {
    const fetched = await fetchMessages(connection, options.retry.map(String), { signal })
    for (const step of arrivedStep('new', fetched, since)) yield { ...step, cursor }
  }
  const again = await findAgain(connection, cursor, { signal })
  if (again) {
    cursor = again.cursor
    yield { type: 'arrived', origin: 'new', ...again.found, remaining: 0, cursor }
  }
  // Nothing was listed yet, or the changes since the walk began are not told.
  const isBegun = cursor.listing === null || !isFirst(cursor.listing)
  if (isBegun && cursor.stage !== 'follow' && cursor.link === null)
    yield* peek(connection, source, cursor, options)
  if (options.onlyNew) return
  if (cursor.stage === 'newest') {
    yield* listOlder(connection, source, { cursor, options, listedMax: NEWEST })
    return
  }
  if (cursor.stage === 'walk') {
    const isListed = cursor.listing === null
    cursor = yield* walkFolder(connection, source, cursor, options)
    // There is nothing to list, and so no step to come.
    if (!isListed && cursor.listing === null)
      yield arrived(connection, 'missing', { messages: [], unreadable: [] }, cursor)
  }
  if (cursor.stage !== 'follow') return
  yield* listOlder(connection, source, { cursor: widened(cursor, options), options, listedMax: null })
}

/** The cursor with a listing of the part of the window that was not wanted before, if there is one. */
function widened(cursor: FolderCursor, { since }: FollowOptions): FolderCursor {
  if (cursor.listing !== null || reachesBack(cursor, since)) return cursor
  const from = since?.getTime() ?? null
  const listing = {
    ...FIRST_POSITION,
    until: cursor.listedSince,
    since: from,
    isWidened: true,
    listed: 0,
    total: null,
  }
  return { ...cursor, listing }
}

async function* peek(
  connection: GraphConnection,
  source: string,
  cursor: FolderCursor,
  options: FollowOptions,
): AsyncGenerator<SourceStep, void, void> {
  const since = options.since?.getTime() ?? null
  const query = { since, position: FIRST_POSITION, pageSize: PEEKED }
  const page = await listWhole(connection, source, query, options, 'prompt')
  for (const step of arrivedStep('new', page, since)) yield { ...step, cursor }
}

/** Lists messages with all that the index shows of them, newest first, up to a number or to the end of the window. */
async function* listOlder(
  connection: GraphConnection,
  source: string,
  {
    cursor: begun,
    options,
    listedMax,
  }: { cursor: FolderCursor; options: FollowOptions; listedMax: number | null },
): AsyncGenerator<SourceStep, void, void> {
  let cursor = begun
  // The page after the one that is being recorded.
  let ahead: Promise<WholePage> | null = null
  for (let pages = 0; cursor.listing !== null && pages < PAGES_MAX; pages += 1) {
    const { listing } = cursor
    const since = listedSinceOf(listing, options)
    const page: WholePage = await (ahead ?? listOlderPage(connection, source, listing, options))
    const listed = listing.listed + page.count
    const total = listing.total ?? page.total
    // The messages of the last second are read once more with the next page.
    const isEnough = listedMax !== null && listed + (page.next?.at.length ?? 0) >= listedMax
    const next = page.next && { ...listing, ...page.next, listed, total }
    cursor = {
      ...cursor,
      listing: next,
      // The window moved on while it was listed.
      listedSince: next === null && listing.isWidened ? since : cursor.listedSince,
      stage: cursor.stage === 'newest' && (next === null || isEnough) ? 'due' : cursor.stage,
    }
    ahead = next === null || isEnough ? null : listOlderPage(connection, source, next, options)
    // A failure is thrown when its page is wanted, which it may never be.
    ahead?.catch(() => {})
    yield arrived(connection, listing.isWidened ? 'widened' : 'missing', page, cursor)
    if (isEnough) return
  }
}

function listOlderPage(
  connection: GraphConnection,
  source: string,
  listing: FolderListing,
  options: FollowOptions,
): Promise<WholePage> {
  const since = listedSinceOf(listing, options)
  const query = { since, position: listing, pageSize: LISTED_PER_PAGE, isCounted: listing.until === null }
  return listWhole(connection, source, query, options, 'background')
}

/** Milliseconds since 1970 from which a listing is wanted; null for all messages. */
function listedSinceOf(listing: FolderListing, options: FollowOptions): number | null {
  const from = options.since?.getTime() ?? null
  return listing.since === null ? from : Math.max(listing.since, from ?? listing.since)
}

function arrived(
  { api }: GraphConnection,
  origin: ArrivedStep['origin'],
  { messages, unreadable }: Pick<ArrivedStep, 'messages' | 'unreadable'>,
  cursor: FolderCursor,
): ArrivedStep & { cursor: Cursor } {
  const { listing } = cursor
  const left = listing === null ? 0 : Math.max((listing.total ?? 0) - listing.listed, 0)
  const calls = Math.ceil(left / LISTED_PER_PAGE)
  return {
    type: 'arrived',
    origin,
    messages,
    unreadable,
    remaining: left,
    remainingSeconds: api.secondsFor(calls),
    cursor,
  }
}
