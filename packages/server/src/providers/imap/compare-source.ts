import type { FollowOptions, KnownMessages, SourceStep } from '../mail.ts'
import { ProviderFailure } from '../failure.ts'
import {
  hasUid,
  knownWithin,
  lowerBound,
  mayDiffer,
  missingFrom,
  parseRanges,
  type UidRange,
  uidSets,
} from './compare.ts'
import type { Selected } from './open-mailbox.ts'
import { hasLowerUidNext, type ImapCursor, isRewound, readCursor } from './cursor.ts'
import {
  endOnAbort,
  type TrackedMailboxes,
  isRenumbered,
  rememberChange,
  rememberCompared,
  startCursor,
  wireNameOf,
} from './follow.ts'
import { SEARCH_CHUNK, searchFrom, searchPresent, searchSequence } from './search.ts'
import { flagsOf, streamFlags } from './stream.ts'
import { textOf } from './values.ts'

/** Without mod-sequences, the flags of a mailbox are compared every minute for each 5,000 messages in it. */
const FLAGS_EVERY_MS = 60_000
export const FLAGS_AT_ONCE = 5000
/** If more messages may have vanished, the list is not requested: the mailbox is compared instead. */
const VANISHED_MAX = 100_000
/** Maximum number of ranges that a server may list as vanished; with more, the mailbox is compared, too. */
const RANGES_MAX = 100_000

const atom = (value: string) => ({ type: 'ATOM', value })
const sequence = (value: string) => ({ type: 'SEQUENCE', value })

/** Milliseconds for which flags of a mailbox without mod-sequences may stay uncompared. */
export function flagsIntervalMs(messages: number): number {
  return FLAGS_EVERY_MS * Math.max(1, Math.ceil(messages / FLAGS_AT_ONCE))
}

/** `MailProvider.compare` on IMAP. */
export async function* compareSource(
  tracked: TrackedMailboxes,
  source: string,
  options: FollowOptions,
): AsyncGenerator<SourceStep> {
  using _guard = endOnAbort(tracked, options.signal)
  const { connection } = tracked
  rememberChange(tracked)
  const opened = { ...(await connection.examine(wireNameOf(tracked, source))) }
  rememberCompared(tracked, source, opened)
  const cursor = readCursor(options.cursor)
  if (cursor && !isRenumbered(cursor, opened) && isRewound(cursor, opened)) await options.onRewound?.()
  if (!cursor || isRenumbered(cursor, opened) || hasLowerUidNext(cursor, opened)) {
    yield { type: 'reset', keys: 'void', cursor: await startCursor(tracked, source, opened, options.since) }
    return
  }

  const next: ImapCursor = { ...cursor, mailboxId: opened.mailboxId ?? cursor.mailboxId }
  const isQuiet = opened.uidNext === cursor.uidNext
  const arrived = isQuiet ? 0 : (await searchFrom(connection, cursor.uidNext, opened.exists)).length
  const present = Math.max(0, opened.exists - arrived)
  if (present !== cursor.exists) {
    const known = await options.known()
    // The index has later messages than the cursor: their changes could not be found out.
    if ((known.keys.at(-1) ?? 0) >= cursor.uidNext) {
      yield {
        type: 'reset',
        keys: 'void',
        cursor: await startCursor(tracked, source, opened, options.since),
      }
      return
    }
    const gone = await findGone(tracked, cursor, present, known)
    next.exists = present
    if (gone.length > 0) yield { type: 'gone', keys: gone, certainty: 'hint', cursor: { ...next } }
  }
  // A message that arrived and was removed between two looks shows only in UIDNEXT.
  if (arrived === 0 && opened.uidNext !== null) next.uidNext = Math.max(cursor.uidNext, opened.uidNext)
  // Messages were there that no look has counted.
  if (present > cursor.exists) next.backfillBelow ??= next.uidNext

  yield* compareFlags(tracked, source, options, { cursor, next, opened })
  if (!isSame(next, cursor)) yield { type: 'states', changes: [], cursor: next }
}

interface Comparison {
  cursor: ImapCursor
  /** The cursor after the comparison; filled in here. */
  next: ImapCursor
  opened: Selected
}

async function* compareFlags(
  tracked: TrackedMailboxes,
  source: string,
  options: FollowOptions,
  { cursor, next, opened }: Comparison,
): AsyncGenerator<SourceStep> {
  const before = { ...next }
  if (isAhead(opened.highestModseq, cursor.highestModseq)) {
    if (opened.highestModseq !== cursor.highestModseq) yield* changedFlags(tracked, cursor, before)
    next.highestModseq = opened.highestModseq
    tracked.dirty.delete(source)
    return
  }
  const now = tracked.now()
  const listed = tracked.listedUnseen.get(source) ?? null
  const hasLostCount = opened.highestModseq !== null || cursor.highestModseq !== null
  const isLate = now - cursor.comparedAt >= flagsIntervalMs(cursor.exists) || now < cursor.comparedAt
  const isDue = isLate || options.isThorough === true
  const isUnseenOther = listed !== null && cursor.unseen !== null && listed !== cursor.unseen
  const isReported = tracked.dirty.has(source) || isUnseenOther
  next.unseen ??= listed
  if (!hasLostCount && !isDue && !(isReported && cursor.exists <= FLAGS_AT_ONCE)) return
  yield* differingFlags(tracked, await options.known(), cursor.uidNext, before)
  tracked.dirty.delete(source)
  next.highestModseq = opened.highestModseq
  next.comparedAt = now
  next.unseen = listed ?? cursor.unseen
}

/** RFC 7162 section 3.1.2.2: mod-sequences never decrease. If they do, they mean nothing. */
function isAhead(now: string | null, before: string | null): boolean {
  return now !== null && before !== null && BigInt(now) >= BigInt(before)
}

async function* changedFlags(
  { connection }: TrackedMailboxes,
  cursor: ImapCursor,
  before: ImapCursor,
): AsyncGenerator<SourceStep> {
  if (cursor.uidNext <= 1) return
  const changedSince = [atom('CHANGEDSINCE'), atom(cursor.highestModseq ?? '1')]
  const values = [sequence(`1:${cursor.uidNext - 1}`), [atom('UID'), atom('FLAGS')], changedSince]
  for await (const batch of streamFlags(connection, values)) {
    yield {
      type: 'states',
      changes: batch.map(({ uid, flags }) => ({ key: uid, flags, mailboxKeys: null })),
      cursor: { ...before },
    }
  }
}

async function* differingFlags(
  { connection }: TrackedMailboxes,
  known: KnownMessages,
  below: number,
  before: ImapCursor,
): AsyncGenerator<SourceStep> {
  const keys = known.keys.subarray(0, lowerBound(known.keys, below))
  for (const { set } of uidSets(keys, FLAGS_AT_ONCE)) {
    for await (const batch of streamFlags(connection, flagsOf(set))) {
      const changes = batch.flatMap(({ uid, flags }) => {
        const at = lowerBound(keys, uid)
        return keys[at] === uid && mayDiffer(flags, known.flags[at] ?? 0)
          ? [{ key: uid, flags, mailboxKeys: null }]
          : []
      })
      if (changes.length > 0) yield { type: 'states', changes, cursor: { ...before } }
    }
  }
}

/** The indexed messages below the cursor that are not among the `present` ones. */
async function findGone(
  tracked: TrackedMailboxes,
  cursor: ImapCursor,
  present: number,
  known: KnownMessages,
): Promise<number[]> {
  const { connection } = tracked
  const { keys } = known
  const lost = cursor.exists - present
  if (keys.length === 0) return []
  if (tracked.hasQresync && cursor.highestModseq !== null && lost > 0 && lost <= VANISHED_MAX) {
    const uids: UidRange = [keys[0] ?? 1, cursor.uidNext - 1]
    const vanished = knownWithin(keys, await askVanished(tracked, cursor.highestModseq, uids))
    const there = vanished.length < lost ? null : await searchPresent(connection, vanished)
    const absent = there ? vanished.filter(uid => !hasUid(there, uid)) : []
    // Each of them was counted and is not there: if they account for the loss, nothing else is missing.
    if (absent.length === lost) return absent
  }
  await connection.reopenIfEmptied()
  const gone: number[] = []
  let below = cursor.uidNext
  let high = present
  while (below > (keys[0] ?? 0)) {
    high = Math.min(high, connection.selected?.exists ?? 0)
    const low = Math.max(1, high - SEARCH_CHUNK + 1)
    const found = high === 0 ? new Uint32Array() : await searchSequence(connection, low, high)
    const from = high === 0 || low === 1 ? 0 : (found[0] ?? below)
    if (from < below) gone.push(...missingFrom(keys, found, from, below))
    if (from === 0) break
    below = Math.min(below, from)
    high = low - 1
  }
  return gone.toSorted((a, b) => a - b)
}

/** RFC 7162 section 3.2.6. The set lists all numbers explicitly: Cyrus forgets some of `1:*`. */
async function askVanished(
  { connection }: TrackedMailboxes,
  modseq: string,
  [from, to]: UidRange,
): Promise<UidRange[]> {
  const ranges: UidRange[] = []
  let isTooLong = false
  try {
    await connection.run({
      name: 'UID FETCH',
      arguments: [
        sequence(`${from}:${to}`),
        [atom('UID')],
        [atom('CHANGEDSINCE'), atom(modseq), atom('VANISHED')],
      ],
      answers: {
        FETCH: () => {},
        VANISHED(_, values) {
          const more = parseRanges(textOf(Array.isArray(values[0]) ? values[1] : values[0]) ?? '')
          isTooLong ||= ranges.length + more.length > RANGES_MAX
          if (!isTooLong) for (const range of more) ranges.push(range)
        },
      },
    })
  } catch (error) {
    if (connection.isClosed || !(error instanceof ProviderFailure)) throw error
    return []
  }
  return isTooLong ? [] : ranges
}

function isSame(a: ImapCursor, b: ImapCursor): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
