import { readDate } from '../../kit/mime/date.ts'
import { summarize } from '../../kit/mime/summary.ts'
import { type FailureKind, ProviderFailure } from '../failure.ts'
import type { MessageKey } from '../mail.ts'
import type { SearchPlace, SearchPosition, SearchQuery } from '../search.ts'
import type { ImapConnection } from './connection.ts'
import { readCursor } from './cursor.ts'
import { fetchItems } from './fetch.ts'
import { type TrackedMailboxes, isRenumbered, wireNameOf } from './follow.ts'
import type { Selected } from './open-mailbox.ts'
import { searchText } from './search.ts'

/** Number of messages that one SEARCH checks. A server without a full-text index reads each of them. */
export const MESSAGES_AT_FIRST = 500
const MESSAGES_MIN = 100
const MESSAGES_MAX = 10_000
/** Limit if no span bounds how many of them the server reads. */
const MESSAGES_MAX_UNBOUNDED = 2000
const SLOW_MS = 1000
const QUICK_MS = 250
/** Failures of a single mailbox, while the server works. */
const SHUT = new Set<FailureKind>(['not_found', 'forbidden', 'rejected'])

const atom = (value: string) => ({ type: 'ATOM', value })
const UID = atom('UID')
const DATE_FIELD = {
  type: 'ATOM',
  value: 'BODY.PEEK',
  section: [atom('HEADER.FIELDS'), [atom('DATE')]],
}

export interface Candidate extends SearchPosition {
  isKnown: boolean
}

/** A period of time: from `from` on and before `before`; null means without an end. */
export interface Span {
  from: Date | null
  to: Date | null
}

/** One search in progress. */
export interface Finding {
  tracked: TrackedMailboxes
  query: SearchQuery
  /**
   * The best candidates of the page in its order, and one more: all that is kept, however many hits there are.
   */
  best: Candidate[]
  /** UIDVALIDITY by source, for the opened sources. */
  uidValidities: Map<string, number>
  messagesAtOnce: number
  /** Over all sources; counted again for each span. */
  messagesSeen: number
  /** Whether the span should be given up. */
  isLate: () => boolean
}

/**
 * Offers the messages of a source within a span, from the last one down, so that expunges, which only lower numbers,
 * hide none. Candidates that were already offered stay.
 * @returns why the server does not open the mailbox; null if it does; `late` if the span was given up
 */
export async function* findIn(
  finding: Finding,
  place: SearchPlace,
  span: Span,
): AsyncGenerator<void, ProviderFailure | 'late' | null, void> {
  const { tracked, query } = finding
  const messagesMax = span.from || span.to ? MESSAGES_MAX : MESSAGES_MAX_UNBOUNDED
  const { connection } = tracked
  const opened = await openPlace(finding, place)
  if (opened instanceof ProviderFailure) return opened
  const wanted = { from: latest(query.after, span.from), to: earliest(query.before, span.to) }
  const cursor = readCursor(place.cursor)
  const isIndexed = cursor !== null && !isRenumbered(cursor, opened)
  let below: number | null = null
  for (let high = opened.exists; high > 0 && below !== 1;) {
    const low = Math.max(1, high - finding.messagesAtOnce + 1)
    const begunAt = performance.now()
    const uids: Uint32Array = await searchText(connection, low, high, {
      text: query.text,
      below,
      since: latest(wanted.from, finding.best[query.limit]?.receivedAt ?? null),
      before: earliest(wanted.to, query.position?.receivedAt ?? null),
    })
    finding.messagesAtOnce = paced(finding.messagesAtOnce, performance.now() - begunAt, messagesMax)
    finding.messagesSeen += high - low + 1
    if (uids.length > 0) await offer(finding, place, [...uids], { isIndexed, wanted })
    yield
    await reopen(finding, place)
    below = uids[0] ?? below
    high = Math.min(low - 1, connection.selected?.exists ?? 0)
    if (high > 0 && below !== 1 && finding.isLate()) return 'late'
  }
  return null
}

async function openPlace(finding: Finding, place: SearchPlace): Promise<Selected | ProviderFailure> {
  const { connection } = finding.tracked
  try {
    const opened = await connection.examine(wireNameOf(finding.tracked, place.source))
    return requireSame(finding, place, opened)
  } catch (error) {
    const isShut = error instanceof ProviderFailure && SHUT.has(error.kind) && !connection.isClosed
    if (isShut) return error
    throw error
  }
}

/** Opens the mailbox again if another caller used the connection in between. */
export async function reopen(finding: Finding, place: SearchPlace): Promise<Selected> {
  const { connection } = finding.tracked
  const wireName = wireNameOf(finding.tracked, place.source)
  const opened = connection.findOpen(wireName) ?? (await connection.examine(wireName))
  return requireSame(finding, place, opened)
}

function requireSame({ uidValidities }: Finding, { id }: SearchPlace, opened: Selected): Selected {
  if (opened.uidValidity !== (uidValidities.get(id) ?? opened.uidValidity))
    throw new ProviderFailure('unavailable', 'The mailbox was renumbered during the search.')
  uidValidities.set(id, opened.uidValidity)
  return opened
}

function paced(messages: number, ms: number, messagesMax: number): number {
  if (ms > SLOW_MS) return Math.max(MESSAGES_MIN, Math.floor(messages / 2))
  return ms < QUICK_MS ? Math.min(messagesMax, messages * 4) : messages
}

function latest(a: Date | null, b: Date | null): Date | null {
  return a && b ? (a > b ? a : b) : (a ?? b)
}

export function earliest<T extends Date | null>(a: Date | null, b: T): Date | T {
  return a && b ? (a < b ? a : b) : (a ?? b)
}

async function offer(
  finding: Finding,
  place: SearchPlace,
  found: readonly number[],
  { isIndexed, wanted }: { isIndexed: boolean; wanted: Span },
): Promise<void> {
  const { tracked, query } = finding
  const offered = new Set(finding.best.flatMap(({ placeId, key }) => (placeId === place.id ? [key] : [])))
  const uids = found.filter(uid => !offered.has(uid))
  const known: ReadonlyMap<MessageKey, Date> = isIndexed ? await query.known(place.id, uids) : new Map()
  const dates = await readDates(
    tracked.connection,
    uids.filter(uid => !known.has(uid)),
  )
  for (const key of uids) {
    const indexedAt = known.get(key)
    const receivedAt = indexedAt ?? dates.get(key)
    if (!receivedAt) continue
    const candidate = { placeId: place.id, key, receivedAt, isKnown: indexedAt !== undefined }
    if (isWanted(candidate, wanted, query.position)) finding.best.push(candidate)
  }
  finding.best.sort(compare)
  finding.best.length = Math.min(finding.best.length, query.limit + 1)
}

/**
 * The times at which messages were received. RFC 9051 requires INTERNALDATE; without it, the date that the index would
 * use.
 */
async function readDates(connection: ImapConnection, uids: readonly number[]): Promise<Map<number, Date>> {
  const dates = new Map<number, Date | null>()
  const wanted = new Set(uids)
  const refusal = await fetchItems(connection, uids, [UID, atom('INTERNALDATE')], ({ uid, internalDate }) => {
    // In the meantime, servers also send flags of other messages.
    if (wanted.has(uid)) dates.set(uid, readDate(internalDate) ?? dates.get(uid) ?? null)
  })
  if (refusal && dates.size === 0) throw refusal
  const undated = [...dates].flatMap(([uid, date]) => (date === null ? [uid] : []))
  await fetchItems(connection, undated, [UID, DATE_FIELD], ({ uid, source }) => {
    if (source && dates.get(uid) === null) dates.set(uid, summarize(source).sentAt)
  })
  return new Map([...dates].map(([uid, date]) => [uid, date ?? new Date(0)]))
}

function isWanted(candidate: Candidate, { from, to }: Span, position: SearchPosition | null): boolean {
  const { receivedAt } = candidate
  if ((from && receivedAt < from) || (to && receivedAt >= to)) return false
  return position === null || compare(position, candidate) < 0
}

/** Negative if `a` comes first. */
function compare(a: SearchPosition, b: SearchPosition): number {
  const newerFirst = b.receivedAt.getTime() - a.receivedAt.getTime()
  if (newerFirst !== 0) return newerFirst
  if (a.placeId !== b.placeId) return a.placeId < b.placeId ? -1 : 1
  return Number(b.key) - Number(a.key)
}
