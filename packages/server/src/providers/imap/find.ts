import { readDate } from '../../kit/mime/date.ts'
import {
  type FailureKind,
  type MessageKey,
  ProviderFailure,
  type RemoteMessage,
  type SearchHit,
  type SearchPage,
  type SearchPlace,
  type SearchPosition,
  type SearchQuery,
} from '../provider.ts'
import { readCursor } from './cursor.ts'
import { fetchItems, fetchMessages } from './fetch.ts'
import { type Following, isRenumbered, wireNameOf } from './follow.ts'
import type { Selected } from './open-mailbox.ts'
import { searchText } from './search.ts'

/** Messages that one SEARCH looks at. A server without a full-text index reads each of them. */
const MESSAGES_AT_FIRST = 2000
const MESSAGES_MIN = 500
const MESSAGES_MAX = 10_000
const SLOW_MS = 1000
const QUICK_MS = 250
/** Of a mailbox alone, while the server is well. */
const SHUT = new Set<FailureKind>(['not_found', 'forbidden', 'rejected'])

const atom = (value: string) => ({ type: 'ATOM', value })

interface Candidate extends SearchPosition {
  isKnown: boolean
}

/** One search on its way. */
interface Finding {
  following: Following
  query: SearchQuery
  /** The first of the page in its order, and one more: all that is kept of however many hits. */
  best: Candidate[]
  /** By place, of those that were opened. */
  uidValidities: Map<string, number>
  messagesAtOnce: number
}

/** As `MailProvider.search`. */
export async function* findMessages(
  following: Following,
  query: SearchQuery,
): AsyncGenerator<void, SearchPage, void> {
  // A line break in a command is another command; what no server could hold in one line is not sent at all.
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000\r\n]/.test(query.text))
    throw new ProviderFailure('rejected', 'The server cannot search for line breaks.')
  const finding: Finding = {
    following,
    query,
    best: [],
    uidValidities: new Map(),
    messagesAtOnce: MESSAGES_AT_FIRST,
  }
  let refusal: ProviderFailure | null = null
  for (const place of query.places) {
    const opened = await openPlace(finding, place)
    if (opened instanceof ProviderFailure) refusal = opened
    else yield* findIn(finding, place, opened)
  }
  if (refusal && refusal.kind !== 'not_found' && finding.uidValidities.size === 0) throw refusal
  const page = finding.best.slice(0, query.limit)
  const messages = yield* readUnknown(finding, page)
  const hits = page.flatMap((candidate): SearchHit[] => {
    const { isKnown, ...position } = candidate
    const message = messages.get(candidate) ?? null
    return isKnown || message ? [{ ...position, message }] : []
  })
  const last = page.at(-1)
  const hasMore = finding.best.length > query.limit
  return { hits, next: hasMore && last ? toPosition(last) : null }
}

/** The opened mailbox, or what the server has against that. */
async function openPlace(finding: Finding, place: SearchPlace): Promise<Selected | ProviderFailure> {
  const { connection } = finding.following
  try {
    const opened = await connection.examine(wireNameOf(finding.following, place.source))
    finding.uidValidities.set(place.id, opened.uidValidity)
    return opened
  } catch (error) {
    const isShut = error instanceof ProviderFailure && SHUT.has(error.kind) && !connection.isClosed
    if (isShut) return error
    throw error
  }
}

/** Looks through a mailbox from its last message down, so that expunges, which only lower numbers, hide none. */
async function* findIn(
  finding: Finding,
  place: SearchPlace,
  opened: Selected,
): AsyncGenerator<void, void, void> {
  const { following, query } = finding
  const { connection } = following
  const cursor = readCursor(place.cursor)
  const isIndexed = cursor !== null && !isRenumbered(cursor, opened)
  let below: number | null = null
  for (let high = opened.exists; high > 0 && below !== 1;) {
    const low = Math.max(1, high - finding.messagesAtOnce + 1)
    const begunAt = performance.now()
    const uids: Uint32Array = await searchText(connection, low, high, {
      text: query.text,
      below,
      since: latest(query.after, finding.best[query.limit]?.receivedAt),
      before: earliest(query.before, query.position?.receivedAt),
    })
    finding.messagesAtOnce = paced(finding.messagesAtOnce, performance.now() - begunAt)
    if (uids.length > 0) await offer(finding, place, [...uids], isIndexed)
    yield
    await reopen(finding, place)
    below = uids[0] ?? below
    high = Math.min(low - 1, connection.selected?.exists ?? 0)
  }
}

function paced(messages: number, ms: number): number {
  if (ms > SLOW_MS) return Math.max(MESSAGES_MIN, Math.floor(messages / 2))
  return ms < QUICK_MS ? Math.min(MESSAGES_MAX, messages * 2) : messages
}

function latest(a: Date | null, b: Date | undefined): Date | null {
  return a && b ? (a > b ? a : b) : (a ?? b ?? null)
}

function earliest(a: Date | null, b: Date | undefined): Date | null {
  return a && b ? (a < b ? a : b) : (a ?? b ?? null)
}

/** Opens the place again where somebody used the connection in between. */
async function reopen({ following, uidValidities }: Finding, place: SearchPlace): Promise<Selected> {
  const { connection } = following
  const wireName = wireNameOf(following, place.source)
  const isOpen = connection.selected?.wireName === wireName
  const opened = isOpen && connection.selected ? connection.selected : await connection.examine(wireName)
  if (opened.uidValidity !== uidValidities.get(place.id))
    throw new ProviderFailure('unavailable', 'The mailbox was numbered anew while it was searched.')
  return opened
}

async function offer(finding: Finding, place: SearchPlace, uids: number[], isIndexed: boolean) {
  const { following, query } = finding
  const known: ReadonlyMap<MessageKey, Date> = isIndexed ? await query.known(place.id, uids) : new Map()
  const dates = new Map<number, Date>()
  await fetchItems(
    following.connection,
    uids.filter(uid => !known.has(uid)),
    [atom('UID'), atom('INTERNALDATE')],
    ({ uid, internalDate }) => void dates.set(uid, readDate(internalDate) ?? new Date(0)),
  )
  for (const key of uids) {
    const indexedAt = known.get(key)
    const receivedAt = indexedAt ?? dates.get(key)
    if (!receivedAt) continue
    const candidate = { placeId: place.id, key, receivedAt, isKnown: indexedAt !== undefined }
    if (isWanted(query, candidate)) finding.best.push(candidate)
  }
  finding.best.sort(compare)
  finding.best.length = Math.min(finding.best.length, query.limit + 1)
}

function isWanted({ after, before, position }: SearchQuery, candidate: Candidate): boolean {
  const { receivedAt } = candidate
  if ((after && receivedAt < after) || (before && receivedAt >= before)) return false
  return position === null || compare(position, candidate) < 0
}

/** Below zero where `a` comes first. */
function compare(a: SearchPosition, b: SearchPosition): number {
  const newerFirst = b.receivedAt.getTime() - a.receivedAt.getTime()
  if (newerFirst !== 0) return newerFirst
  if (a.placeId !== b.placeId) return a.placeId < b.placeId ? -1 : 1
  return Number(b.key) - Number(a.key)
}

function toPosition({ receivedAt, placeId, key }: SearchPosition): SearchPosition {
  return { receivedAt, placeId, key }
}

/** Fetches what the index would show of the candidates that it lacks. */
async function* readUnknown(
  finding: Finding,
  page: readonly Candidate[],
): AsyncGenerator<void, Map<Candidate, RemoteMessage>, void> {
  const { following, query } = finding
  const { connection, suspicions } = following
  const read = new Map<Candidate, RemoteMessage>()
  const unknown = Map.groupBy(
    page.filter(({ isKnown }) => !isKnown),
    ({ placeId }) => placeId,
  )
  for (const place of query.places) {
    const candidates = unknown.get(place.id)
    if (!candidates) continue
    yield
    const uids = candidates.map(({ key }) => Number(key))
    const { uidValidity } = await reopen(finding, place)
    const { messages } = await fetchMessages(
      { connection, mailboxKey: place.source, uidValidity, suspicions },
      uids,
    )
    const byKey = new Map(messages.map(message => [message.key, message]))
    for (const candidate of candidates) {
      const message = byKey.get(candidate.key)
      if (message) read.set(candidate, message)
    }
  }
  return read
}
