import type { FollowOptions, RemoteMessage, SourceStep } from '../mail.ts'
import { ProviderFailure } from '../failure.ts'
import { hasUid, lowerBound } from './compare.ts'
import type { Selected } from './open-mailbox.ts'
import { type ImapCursor, reachesBack, readCursor } from './cursor.ts'
import { type FetchPlace, type FetchResult, fetchMessages, MESSAGES_PER_FETCH } from './fetch.ts'
import { endOnAbort, type TrackedMailboxes, isRenumbered, startCursor, toUids, wireNameOf } from './follow.ts'
import { countSince, SEARCH_CHUNK, searchFrom, searchPresent, searchSequence } from './search.ts'

/** From this number of messages on, a search finds the ones in the window before their beginnings are fetched. */
const NARROW_FROM = 50

/** `MailProvider.arrivals` on IMAP. The next messages are fetched while the caller stores the last. */
export async function* arrivals(
  tracked: TrackedMailboxes,
  source: string,
  options: FollowOptions,
): AsyncGenerator<SourceStep> {
  using _guard = endOnAbort(tracked, options.signal)
  yield* readAhead(bring(tracked, source, options))
}

async function* bring(
  tracked: TrackedMailboxes,
  source: string,
  options: FollowOptions,
): AsyncGenerator<SourceStep> {
  const { connection } = tracked
  const wireName = wireNameOf(tracked, source)
  const opened = { ...(connection.findOpen(wireName) ?? (await connection.examine(wireName))) }
  const stored = readCursor(options.cursor)
  if (stored && isRenumbered(stored, opened))
    throw new ProviderFailure('unavailable', 'The mailbox was renumbered in the meantime.')
  const cursor = stored
    ? widen(stored, options.since)
    : await startCursor(tracked, source, opened, options.since)
  const place = {
    connection,
    mailboxKey: source,
    uidValidity: opened.uidValidity,
    suspicions: tracked.suspicions,
    seeksInvitations: tracked.seeksInvitations,
  }
  const bringing: Bringing = { tracked, place, options, opened, cursor }
  yield* bringRetries(bringing)
  yield* bringNew(bringing)
  yield* bringOlder(bringing)
}

interface Bringing {
  tracked: TrackedMailboxes
  place: FetchPlace
  options: FollowOptions
  opened: Selected
  /** The cursor of the last step. */
  cursor: ImapCursor
}

/** A window that reaches further back than before is read again from its top; indexed messages are skipped. */
function widen(cursor: ImapCursor, since: Date | null): ImapCursor {
  if (reachesBack(cursor, since)) return cursor
  return {
    ...cursor,
    backfillBelow: cursor.uidNext,
    since: since ? since.getTime() : null,
    widenedBefore: cursor.widenedBefore ?? cursor.since,
  }
}

async function* bringRetries({ place, options, cursor }: Bringing): AsyncGenerator<SourceStep> {
  const uids = toUids(options.retry).toSorted((a, b) => a - b)
  for (let at = 0; at < uids.length; at += MESSAGES_PER_FETCH) {
    const result = await fetchMessages(place, uids.slice(at, at + MESSAGES_PER_FETCH))
    const messages = within(result.messages, options.since)
    yield {
      type: 'arrived',
      origin: 'new',
      messages,
      unreadable: result.unreadable,
      cursor: { ...cursor },
      remaining: 0,
    }
  }
}

async function* bringNew(bringing: Bringing): AsyncGenerator<SourceStep> {
  const { place, options, opened } = bringing
  if (opened.uidNext === bringing.cursor.uidNext) return
  if (yield* bringNext(bringing)) return
  const uids = await searchFrom(place.connection, bringing.cursor.uidNext, opened.exists)
  for (let at = 0; at < uids.length; at += MESSAGES_PER_FETCH) {
    const chunk = [...uids.subarray(at, at + MESSAGES_PER_FETCH)]
    const wanted = await narrow(
      place,
      chunk.filter(uid => !options.skip.has(uid)),
      options.since,
    )
    const result = await fetchMessages(place, wanted)
    const vanished = wanted.length - result.messages.length - result.unreadable.length
    const isLast = at + chunk.length === uids.length
    const last = (chunk.at(-1) ?? 0) + 1
    bringing.cursor = {
      ...bringing.cursor,
      uidNext: isLast ? Math.max(last, opened.uidNext ?? 0) : last,
      exists: bringing.cursor.exists + chunk.length - vanished,
    }
    yield {
      type: 'arrived',
      origin: 'new',
      messages: within(result.messages, options.since),
      unreadable: result.unreadable,
      cursor: bringing.cursor,
      remaining: uids.length - at - chunk.length,
    }
  }
}

/**
 * Fetches the next UID without a search, since a single new message nearly always has it.
 * @returns whether nothing else can be new
 */
async function* bringNext(bringing: Bringing): AsyncGenerator<SourceStep, boolean> {
  const { place, options, opened, cursor } = bringing
  const uid = cursor.uidNext
  if (opened.exists !== cursor.exists + 1 || options.skip.has(uid)) return false
  const { messages, unreadable, numberMax } = await fetchMessages(place, [uid])
  if (messages.length + unreadable.length === 0) return false
  // Only the message that is the last by its number has none behind it.
  const isLast = numberMax >= opened.exists
  const uidNext = isLast ? Math.max(uid + 1, opened.uidNext ?? 0) : uid + 1
  bringing.cursor = { ...cursor, uidNext, exists: opened.exists }
  yield {
    type: 'arrived',
    origin: 'new',
    messages: within(messages, options.since),
    unreadable,
    cursor: bringing.cursor,
    remaining: 0,
  }
  return isLast
}

/** Removes messages that are certainly before the window, if that saves fetching many. */
async function narrow(place: FetchPlace, uids: number[], since: Date | null): Promise<number[]> {
  if (!since || uids.length < NARROW_FROM) return uids
  return [...(await searchPresent(place.connection, uids, since))]
}

/** SINCE compares only days, so the exact time is checked afterwards. */
function within(messages: RemoteMessage[], since: Date | null): RemoteMessage[] {
  return since ? messages.filter(({ receivedAt }) => receivedAt >= since) : messages
}

/**
 * Messages below the cursor that the index lacks, newest first, in chunks of sequence numbers, which only shift down.
 */
async function* bringOlder(bringing: Bringing): AsyncGenerator<SourceStep> {
  const { tracked, place, options, opened } = bringing
  const { connection } = place
  if (bringing.cursor.backfillBelow === null) return
  const known = (await options.known()).keys
  const excluded = new Set([...toUids(options.skip), ...options.retry])
  const expected = options.since
    ? await countSince(connection, bringing.cursor.backfillBelow, options.since)
    : null
  let matched = 0
  let below = bringing.cursor.backfillBelow
  let high = startOf(tracked.positions.get(place.mailboxKey), bringing.cursor, opened)
  while (high > 0 && below > 1) {
    const low = Math.max(1, high - SEARCH_CHUNK + 1)
    const found = await searchSequence(connection, low, high, {
      uids: `1:${below - 1}`,
      since: options.since,
    })
    const wanted = [...found]
      .filter(uid => uid < below && !hasUid(known, uid) && !excluded.has(uid))
      .toReversed()
    matched += found.length
    const lower = options.since ? Math.max(0, (expected ?? 0) - matched) : low - 1
    const older = Math.max(0, lower - lowerBound(known, found[0] ?? below))
    for (let at = 0; at < wanted.length; at += MESSAGES_PER_FETCH) {
      const chunk = wanted.slice(at, at + MESSAGES_PER_FETCH)
      const result = await fetchMessages(place, chunk)
      below = chunk.at(-1) ?? below
      yield* handOver(bringing, result, below, older + wanted.length - at - chunk.length)
    }
    below = Math.min(below, found[0] ?? below)
    high = Math.min(low - 1, connection.selected?.exists ?? 0)
    tracked.positions.set(place.mailboxKey, { uidValidity: opened.uidValidity, below, high })
  }
  await connection.reopenIfEmptied()
  bringing.cursor = { ...bringing.cursor, backfillBelow: null, widenedBefore: null }
  yield {
    type: 'arrived',
    origin: 'missing',
    messages: [],
    unreadable: [],
    cursor: bringing.cursor,
    remaining: 0,
  }
}

/** The highest sequence number that a message below the backfill can have. Sequence numbers only decrease. */
function startOf(
  position: { uidValidity: number; below: number; high: number } | undefined,
  cursor: ImapCursor,
  opened: Selected,
): number {
  const isValid =
    position && position.uidValidity === opened.uidValidity && position.below >= (cursor.backfillBelow ?? 0)
  return isValid ? Math.min(position.high, opened.exists) : opened.exists
}

/**
 * In a widened window, messages of the old part are `missing`, and the others `widened`: two steps, and the cursor
 * moves with the last one.
 */
function* handOver(
  bringing: Bringing,
  result: FetchResult,
  below: number,
  remaining: number,
): Generator<SourceStep> {
  const { cursor, options } = bringing
  const messages = within(result.messages, options.since)
  bringing.cursor = { ...cursor, backfillBelow: below }
  const step = { type: 'arrived', unreadable: result.unreadable, cursor: bringing.cursor, remaining } as const
  const { widenedBefore } = cursor
  if (widenedBefore === null) {
    yield { ...step, origin: 'missing', messages }
    return
  }
  const isWidened = ({ receivedAt }: RemoteMessage) => receivedAt.getTime() < widenedBefore
  const missing = messages.filter(message => !isWidened(message))
  if (missing.length > 0) yield { ...step, origin: 'missing', messages: missing, unreadable: [], cursor }
  yield { ...step, origin: 'widened', messages: messages.filter(isWidened) }
}

/** Requests the next item while the last one is being used. Ending it waits for the requested item. */
async function* readAhead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  const ask = () => {
    const asked = items.next()
    asked.catch(() => {})
    return asked
  }
  let next = ask()
  try {
    for (;;) {
      const { done, value } = await next
      if (done) return
      next = ask()
      yield value
    }
  } finally {
    await items.return(undefined).catch(() => {})
  }
}
