import type { ArrivedStep, Cursor, FollowOptions, PageStep, StatesStep } from '../mail.ts'
import { arrivedStep, isFollowed, mustFetchAgain, toStates } from './changes.ts'
import { FIRST_POSITION, type FolderCursor, isFirst, walkedSince } from './cursor.ts'
import { beginWalk, readOn } from './delta.ts'
import { LinkExpired } from './failure.ts'
import { fetchMessages } from './fetch.ts'
import type { GraphConnection } from './graph-connection.ts'
import { listFolder } from './list-folder.ts'
import { STATE_FIELDS } from './message.ts'
import { type MessageState, statesSchema } from './resources.ts'
import { noteUnfound } from './unfound.ts'

/** Messages that are fetched for one step. */
const FETCHED_MAX = 100
const SWEPT_PER_PAGE = 1_000
/** If a walk expires more often than this before its end, it is given up for now. */
const RESTARTS_MAX = 2
/** Pages of one walk that are read in a pass. The next pass goes on from there. */
const PAGES_MAX = 10_000

interface WalkPage {
  items: MessageState[]
  next: FolderCursor
}

/**
 * Walks through all messages of a folder. Their states and places are recorded, and messages that the index lacks are
 * fetched: so everything is known up to the link at its end. Messages outside of the window are passed over, and so are
 * those that are still to be listed: a folder of which nothing was listed is walked through only for that link, so that
 * changes since then are not lost while it is listed.
 * @returns the cursor behind the walk. It is not stored yet if nothing was listed: the listing brings it
 */
export async function* walkFolder(
  connection: GraphConnection,
  source: string,
  begun: FolderCursor,
  options: FollowOptions,
): AsyncGenerator<PageStep & { cursor: Cursor }, FolderCursor, void> {
  const { has } = connection.api.cloud
  const isUnlisted = begun.listing !== null && isFirst(begun.listing)
  if (isUnlisted && !has.messageDelta)
    return { ...begun, stage: 'follow', sweep: null, walkedAt: connection.api.now() }
  let cursor = begun
  let restarts = 0
  for (let pages = 0; cursor.stage === 'walk' && pages < PAGES_MAX; pages += 1) {
    let page
    try {
      page = has.messageDelta
        ? await readWalk(connection, source, cursor, options)
        : await readSweep(connection, source, cursor, options)
    } catch (error) {
      if (!(error instanceof LinkExpired) || cursor.walk === null || ++restarts > RESTARTS_MAX) throw error
      cursor = { ...cursor, walk: null }
      continue
    }
    if (isUnlisted && page.next.stage === 'follow') return page.next
    cursor = yield* recordWalked(connection, source, page, { cursor, options })
  }
  return cursor
}

async function readWalk(
  connection: GraphConnection,
  source: string,
  cursor: FolderCursor,
  { signal }: FollowOptions,
): Promise<WalkPage> {
  const ask = { signal, urgency: 'background' as const }
  const { items, link, isLast } =
    cursor.walk === null
      ? await beginWalk(connection, source, ask)
      : await readOn(connection, cursor.walk, ask)
  if (!isLast) return { items, next: { ...cursor, walk: link } }
  const isEmpty = cursor.walk === null && items.length === 0
  const next: FolderCursor = {
    ...cursor,
    stage: 'follow',
    walk: null,
    // A link that is still good has deletions that this walk does not show.
    link: cursor.link ?? link,
    walkedAt: connection.api.now(),
  }
  // An empty folder has nothing left to list.
  const isListed = isEmpty && cursor.listing !== null && isFirst(cursor.listing)
  return { items, next: isListed ? { ...next, listing: null } : next }
}

/** A walk where there is no delta: by lists of ids. */
async function readSweep(
  connection: GraphConnection,
  source: string,
  cursor: FolderCursor,
  options: FollowOptions,
): Promise<WalkPage> {
  // Messages that change while the folder is listed may be on a page that was read before.
  const walkedAt = cursor.sweep === null ? connection.api.now() : cursor.walkedAt
  const position = cursor.sweep ?? FIRST_POSITION
  const query = { $select: STATE_FIELDS }
  const since = walkedSince(cursor, options.since)
  const { items, next } = await listFolder(
    connection,
    source,
    { schema: statesSchema, query, since, position, pageSize: SWEPT_PER_PAGE },
    { signal: options.signal, urgency: 'background' },
  )
  if (next !== null) return { items, next: { ...cursor, sweep: next, walkedAt } }
  return { items, next: { ...cursor, stage: 'follow', sweep: null, walkedAt } }
}

/** @returns the cursor behind the page */
async function* recordWalked(
  connection: GraphConnection,
  source: string,
  { items, next }: WalkPage,
  { cursor, options }: { cursor: FolderCursor; options: FollowOptions },
): AsyncGenerator<PageStep & { cursor: Cursor }, FolderCursor, void> {
  const since = walkedSince(cursor, options.since)
  const wanted = items.filter(item => isFollowed(item, since, options))
  const missing = new Set(wanted.length === 0 ? [] : await options.lacking(wanted.map(({ id }) => id)))
  const held = wanted.filter(({ id }) => !missing.has(id))
  const states: StatesStep[] = toStates(held, source)
  const ids = [...missing, ...held.filter(mustFetchAgain).map(({ id }) => id)]
  let done = next
  for (let at = 0; at < ids.length; at += FETCHED_MAX) {
    const fetched = await fetchMessages(connection, ids.slice(at, at + FETCHED_MAX), {
      signal: options.signal,
      urgency: 'background',
    })
    const noted = noteUnfound(done, fetched, connection.api.now())
    done = noted.cursor
    const arrived = arrivedStep('missing', { ...fetched, unreadable: noted.unreadable }, since)
    const steps = withRemaining(arrived, ids.length - at - FETCHED_MAX)
    yield { type: 'page', steps, cursor: { ...cursor, unfound: done.unfound, unfoundAt: done.unfoundAt } }
  }
  yield { type: 'page', steps: states, cursor: done }
  return done
}

function withRemaining(steps: readonly ArrivedStep[], left: number): ArrivedStep[] {
  return steps.map(step => ({ ...step, remaining: Math.max(left, 0) }))
}
