import type { ArrivedStep, Cursor, FollowOptions, SourceStep } from '../mail.ts'
import { arrivedStep } from './changes.ts'
import { FIRST_POSITION, type FolderCursor, reachesBack, readCursor } from './cursor.ts'
import { fetchMessages } from './fetch.ts'
import type { GraphConnection } from './graph-connection.ts'
import { isHidden } from './folders.ts'
import { type Listing, listFolder } from './list-folder.ts'
import { MESSAGE_QUERY, toRemoteMessage } from './message.ts'
import { type GraphMessage, messagesSchema } from './resources.ts'
import { takeLink, walkFolder } from './walk.ts'

/** The newest messages come before the whole folder is walked through. */
const NEWEST = 500
const LISTED_PER_PAGE = 250
/** While changes are not known, this many of the newest messages are looked at, so that new mail is not among them. */
const PEEKED = 50
/** After this time a message that Graph named, and does not have, has come and gone. */
const UNFOUND_MS_MAX = 60_000

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
  if (cursor.unfound.length > 0) {
    const { messages, unreadable, gone } = await fetchMessages(connection, cursor.unfound, { signal })
    const isOver = connection.api.now() - (cursor.unfoundAt ?? 0) > UNFOUND_MS_MAX
    const unfound: string[] = isOver ? [] : gone
    if (messages.length > 0 || unreadable.length > 0 || unfound.length < cursor.unfound.length) {
      cursor = { ...cursor, unfound }
      yield { type: 'arrived', origin: 'new', messages, unreadable, remaining: 0, cursor }
    }
  }
  // Nothing was listed yet, or the changes since the walk began are not told.
  const isBegun = cursor.listing?.until !== null
  if (isBegun && cursor.stage !== 'follow' && cursor.link === null)
    yield* peek(connection, source, cursor, options)
  if (options.onlyNew) return
  if (cursor.stage === 'newest') {
    yield* listOlder(connection, source, { cursor, options, listedMax: NEWEST })
    return
  }
  if (cursor.stage === 'walk' && cursor.listing?.until === null) {
    cursor = await takeLink(connection, source, cursor, options)
    // There is nothing to list, and so no step to come.
    if (cursor.listing === null) yield arrived(connection, 'missing', [], cursor)
  }
  if (cursor.stage === 'walk') {
    for await (const step of walkFolder(connection, source, cursor, options)) {
      yield step
      cursor = step.cursor as FolderCursor
    }
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
  const query = {
    schema: messagesSchema,
    query: MESSAGE_QUERY,
    since,
    position: FIRST_POSITION,
    pageSize: PEEKED,
  }
  const { items } = await listFolder(connection, source, query, { signal: options.signal })
  const wanted = await lackingOf(items, options)
  const messages = (await toMessages(connection, wanted, options)).toReversed()
  if (messages.length > 0)
    yield { type: 'arrived', origin: 'new', messages, unreadable: [], remaining: 0, cursor }
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
  for (let { listing } = cursor; listing !== null; listing = cursor.listing) {
    const from = options.since?.getTime() ?? null
    const since = listing.since === null ? from : Math.max(listing.since, from ?? listing.since)
    const page: Listing<GraphMessage> = await listFolder(
      connection,
      source,
      {
        schema: messagesSchema,
        query: MESSAGE_QUERY,
        since,
        position: listing,
        pageSize: LISTED_PER_PAGE,
        isCounted: listing.until === null,
      },
      { signal: options.signal, urgency: 'background' },
    )
    const wanted = await lackingOf(page.items, options)
    const messages = await toMessages(connection, wanted, options)
    const listed = listing.listed + page.items.length
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
    yield arrived(connection, listing.isWidened ? 'widened' : 'missing', messages, cursor)
    if (isEnough) return
  }
}

function arrived(
  { api }: GraphConnection,
  origin: ArrivedStep['origin'],
  messages: ArrivedStep['messages'],
  cursor: FolderCursor,
): ArrivedStep & { cursor: Cursor } {
  const { listing } = cursor
  const left = listing === null ? 0 : Math.max((listing.total ?? 0) - listing.listed, 0)
  const calls = Math.ceil(left / LISTED_PER_PAGE)
  return {
    type: 'arrived',
    origin,
    messages,
    unreadable: [],
    remaining: left,
    remainingSeconds: api.secondsFor(calls),
    cursor,
  }
}

async function lackingOf(
  items: readonly GraphMessage[],
  { skip, lacking }: FollowOptions,
): Promise<GraphMessage[]> {
  const due = items.filter(({ id }) => !skip.has(id))
  const missing = new Set(due.length === 0 ? [] : await lacking(due.map(({ id }) => id)))
  return due.filter(({ id }) => missing.has(id))
}

async function toMessages(
  connection: GraphConnection,
  items: readonly GraphMessage[],
  { signal }: FollowOptions,
): Promise<ArrivedStep['messages']> {
  const messages: ArrivedStep['messages'] = []
  for (const item of items)
    if (item.parentFolderId && !(await isHidden(connection, item.parentFolderId, { signal })))
      messages.push(toRemoteMessage(item))
  return messages
}
