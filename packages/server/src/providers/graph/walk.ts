import type { ArrivedStep, Cursor, FollowOptions, PageStep, StatesStep } from '../mail.ts'
import { arrivedStep, toStates } from './changes.ts'
import { FIRST_POSITION, type FolderCursor, isSince, walkedSince } from './cursor.ts'
import { beginWalk, readOn } from './delta.ts'
import { LinkExpired } from './failure.ts'
import { fetchMessages } from './fetch.ts'
import type { GraphConnection } from './graph-connection.ts'
import { listFolder } from './list-folder.ts'
import { hasAllFlags, STATE_FIELDS } from './message.ts'
import { type MessageState, statesSchema } from './resources.ts'

/** Messages that are fetched for one step. */
const FETCHED_MAX = 100
const SWEPT_PER_PAGE = 1_000
/** If a walk expires more often than this before its end, it is given up for now. */
const RESTARTS_MAX = 2

interface WalkPage {
  items: MessageState[]
  next: FolderCursor
}

/**
 * Walks through all messages of a folder. Their states and places are recorded, and messages that the index lacks are
 * fetched: so everything is known up to the link at its end. Messages outside of the window are passed over, and so are
 * those that are still to be listed.
 */
export async function* walkFolder(
  connection: GraphConnection,
  source: string,
  begun: FolderCursor,
  options: FollowOptions,
): AsyncGenerator<PageStep & { cursor: Cursor }, void, void> {
  let cursor = begun
  let restarts = 0
  while (cursor.stage === 'walk') {
    let page
    try {
      page = connection.api.cloud.has.messageDelta
        ? await readWalk(connection, source, cursor, options)
        : await readSweep(connection, source, cursor, options)
    } catch (error) {
      if (!(error instanceof LinkExpired) || cursor.walk === null || ++restarts > RESTARTS_MAX) throw error
      cursor = { ...cursor, walk: null }
      continue
    }
    yield* recordWalked(connection, source, page, { cursor, options })
    cursor = page.next
  }
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
  // A link that is still good has deletions that this walk does not show.
  const next = { ...cursor, stage: 'follow' as const, walk: null, link: cursor.link ?? link }
  return { items, next: { ...next, walkedAt: connection.api.now() } }
}

/**
 * Walks through a folder of which all messages are still to be listed, only for the link at its end: changes since then
 * are not lost while they are listed.
 */
export async function takeLink(
  connection: GraphConnection,
  source: string,
  begun: FolderCursor,
  options: FollowOptions,
): Promise<FolderCursor> {
  const walkedAt = connection.api.now()
  if (!connection.api.cloud.has.messageDelta) return { ...begun, stage: 'follow', sweep: null, walkedAt }
  let cursor = begun
  let restarts = 0
  let isEmpty = true
  while (cursor.stage === 'walk') {
    try {
      const { items, next } = await readWalk(connection, source, cursor, options)
      isEmpty &&= items.length === 0
      cursor = next
    } catch (error) {
      if (!(error instanceof LinkExpired) || cursor.walk === null || ++restarts > RESTARTS_MAX) throw error
      cursor = { ...cursor, walk: null }
    }
    options.signal.throwIfAborted()
  }
  return isEmpty ? { ...cursor, listing: null } : cursor
}

/** A walk where there is no delta: by lists of ids. */
async function readSweep(
  connection: GraphConnection,
  source: string,
  cursor: FolderCursor,
  options: FollowOptions,
): Promise<WalkPage> {
  const position = cursor.sweep ?? FIRST_POSITION
  const query = { $select: STATE_FIELDS }
  const since = walkedSince(cursor, options.since)
  const { items, next } = await listFolder(
    connection,
    source,
    { schema: statesSchema, query, since, position, pageSize: SWEPT_PER_PAGE },
    { signal: options.signal, urgency: 'background' },
  )
  if (next !== null) return { items, next: { ...cursor, sweep: next } }
  const walkedAt = connection.api.now()
  return { items, next: { ...cursor, stage: 'follow', sweep: null, walkedAt } }
}

async function* recordWalked(
  connection: GraphConnection,
  source: string,
  { items, next }: WalkPage,
  { cursor, options }: { cursor: FolderCursor; options: FollowOptions },
): AsyncGenerator<PageStep & { cursor: Cursor }, void, void> {
  const since = walkedSince(cursor, options.since)
  const wanted = items.filter(
    ({ id, receivedDateTime }) => !options.skip.has(id) && isSince(receivedDateTime, since),
  )
  const missing = new Set(wanted.length === 0 ? [] : await options.lacking(wanted.map(({ id }) => id)))
  const held = wanted.filter(({ id }) => !missing.has(id))
  const states: StatesStep[] = toStates(held, source)
  // Drafts have other contents under the same id, and an item without all flags does not show its state.
  const fetchAlso = held.filter(item => item.isDraft === true || !hasAllFlags(item)).map(({ id }) => id)
  const ids = [...missing, ...fetchAlso]
  for (let at = 0; at < ids.length; at += FETCHED_MAX) {
    const fetched = await fetchMessages(connection, ids.slice(at, at + FETCHED_MAX), {
      signal: options.signal,
      urgency: 'background',
    })
    const steps = withRemaining(arrivedStep('missing', fetched, since), ids.length - at - FETCHED_MAX)
    yield { type: 'page', steps, cursor }
  }
  yield { type: 'page', steps: states, cursor: next }
}

function withRemaining(steps: readonly ArrivedStep[], left: number): ArrivedStep[] {
  return steps.map(step => ({ ...step, remaining: Math.max(left, 0) }))
}
