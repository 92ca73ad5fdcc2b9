import type { ArrivedStep, Cursor, FollowOptions, SourceStep, StatesStep } from '../mail.ts'
import { BATCH_PARTS_MAX } from './api.ts'
import { Backfill } from './backfill.ts'
import { type GmailCursor, reachesBack, readCursor } from './cursor.ts'
import { fetchMessages, idsOf, wantMessage } from './fetch.ts'
import type { Handed } from './gmail-connection.ts'
import type { ListingConnection } from './listings.ts'
import { Healing } from './healing.ts'
import { listIds } from './listing.ts'

/** While a part of the history is missing, the newest messages are looked at, so that new mail is not among it. */
const PEEKED = 100

/**
 * `MailProvider.arrivals`: messages to be tried again; then, if everything is to be listed, the messages of the window
 * that the index lacks. New mail comes with the history.
 */
export async function* bringMessages(
  connection: ListingConnection,
  stored: Cursor | null,
  options: FollowOptions,
): AsyncGenerator<SourceStep, void, void> {
  const cursor = readCursor(stored)
  if (!cursor) return
  yield* bringAll(connection, cursor, options.retry, options)
  if (cursor.hasGap) yield* peek(connection, cursor, options)
  // It is kept until its end is recorded.
  if (cursor.listing !== 'healing') connection.healing = null
  if (options.onlyNew) return
  if (cursor.listing === 'healing') yield* heal(connection, cursor, options)
  else if (cursor.listing === 'first' || !reachesBack(cursor, options.since))
    yield* backfill(connection, cursor, options)
}

async function* bringAll(
  connection: ListingConnection,
  cursor: GmailCursor,
  ids: FollowOptions['retry'],
  { signal }: FollowOptions,
): AsyncGenerator<ArrivedStep & { cursor: Cursor }, void, void> {
  for (let left = ids.map(String); left.length > 0;) {
    const asked = left.slice(0, BATCH_PARTS_MAX)
    const fetched = await fetchMessages(connection, asked.map(wantMessage), { signal })
    const { messages, unreadable } = fetched
    left = [...fetched.left.flatMap(idsOf), ...left.slice(asked.length)]
    yield { type: 'arrived', origin: 'new', messages, unreadable, remaining: 0, cursor }
    if (fetched.throttled) throw fetched.throttled
  }
}

async function* peek(
  connection: ListingConnection,
  cursor: GmailCursor,
  options: FollowOptions,
): AsyncGenerator<SourceStep, void, void> {
  const { api, signal } = connection
  const after = options.since?.getTime() ?? null
  const { messages } = await listIds(api, { after, pageSize: PEEKED }, undefined, { signal })
  const ids = messages.map(({ id }) => id).filter(id => !options.skip.has(id))
  const lacking = ids.length === 0 ? [] : await options.lacking(ids)
  yield* bringAll(connection, cursor, lacking, options)
}

async function* backfill(
  connection: ListingConnection,
  cursor: GmailCursor,
  options: FollowOptions,
): AsyncGenerator<SourceStep, void, void> {
  const since = options.since?.getTime() ?? null
  const isWidened = cursor.listing === null
  const before = isWidened ? cursor.listedSince : null
  const going = connection.backfill
  // The window moves on with the clock; messages that fall out of it meanwhile do no harm.
  const isGoingOn = going && going.before === before && (going.since ?? 0) <= (since ?? 0)
  const listing = isGoingOn ? going : (connection.backfill = new Backfill(connection, { since, before }))
  const origin = isWidened ? 'widened' : 'missing'
  let number = cursor.step
  for (let step; (step = await nextOf(listing, number, options));) {
    number += 1
    listing.handed = { step: number, ids: idsIn(step) }
    yield { ...step, origin, cursor: { ...cursor, step: number } }
  }
  connection.backfill = null
  const done: GmailCursor = { ...cursor, step: number, listing: null, listedSince: listing.since }
  yield { type: 'arrived', origin, messages: [], unreadable: [], remaining: 0, cursor: done }
}

async function* heal(
  connection: ListingConnection,
  cursor: GmailCursor,
  options: FollowOptions,
): AsyncGenerator<SourceStep, void, void> {
  const since = options.since?.getTime() ?? null
  const going = connection.healing
  const isGoingOn = going !== null && (going.since ?? 0) <= (since ?? 0)
  const healing = isGoingOn ? going : (connection.healing = new Healing(connection, since))
  for (let remaining; (remaining = await healing.list(cursor.historyId)) !== null;) {
    const progress: ArrivedStep = {
      type: 'arrived',
      origin: 'missing',
      messages: [],
      unreadable: [],
      remaining,
    }
    yield { type: 'page', steps: [progress], cursor }
  }
  let number = cursor.step
  for (let steps; (steps = await nextOf(healing, number, options));) {
    number += 1
    healing.handed = { step: number, ids: steps.flatMap(idsIn) }
    yield { type: 'page', steps, cursor: { ...cursor, step: number } }
  }
  const done: GmailCursor = { ...cursor, step: number, listing: null, listedSince: healing.since }
  yield { type: 'page', steps: [], cursor: done }
}

interface Listing<Step> {
  handed: Handed | null
  takeBack(ids: readonly string[]): void
  next(options: FollowOptions): Promise<Step | null>
}

/** The next step of a listing, with the last handed-over step if the follower broke off before it was recorded. */
function nextOf<Step>(
  listing: Listing<Step>,
  recorded: number,
  options: FollowOptions,
): Promise<Step | null> {
  const { handed } = listing
  if (handed && handed.step !== recorded) listing.takeBack(handed.ids)
  listing.handed = null
  return listing.next(options)
}

function idsIn(step: Pick<ArrivedStep, 'messages' | 'unreadable'> | StatesStep): string[] {
  const ofStep = 'changes' in step ? step.changes : [...step.messages, ...step.unreadable]
  return ofStep.map(({ key }) => String(key))
}
