import {
  ProviderFailure,
  type RemoteMessage,
  type SearchHit,
  type SearchPage,
  type SearchPlace,
  type SearchPosition,
  type SearchQuery,
} from '../provider.ts'
import { fetchMessages } from './fetch.ts'
import {
  type Candidate,
  earliest,
  type Finding,
  findIn,
  MESSAGES_AT_FIRST,
  reopen,
  type Span,
} from './find-in-mailbox.ts'
import type { Following } from './follow.ts'

/** So many are looked through at once; of more, the newest first. */
const MESSAGES_WITHOUT_SPANS = 20_000
const PLACE_WITHOUT_SPANS = 500
const SPAN_MS = 30 * 24 * 60 * 60_000
const SPAN_GROWTH = 4
/** What is older is one span. */
const LONG_AGO = Date.UTC(2000, 0, 1)

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
  const sureFrom = yield* findBest(finding)
  const sure = finding.best.filter(({ receivedAt }) => sureFrom === null || receivedAt >= sureFrom)
  const page = sure.slice(0, query.limit)
  const messages = yield* readUnknown(finding, page)
  const hits = page.flatMap((candidate): SearchHit[] => {
    const { isKnown, ...position } = candidate
    const message = messages.get(candidate) ?? null
    return isKnown || message ? [{ ...position, message }] : []
  })
  const last = page.at(-1)
  if (last && sure.length > query.limit) return { hits, next: toPosition(last) }
  return { hits, next: sureFrom && { receivedAt: new Date(sureFrom.getTime() - 1), placeId: '', key: 0 } }
}

/**
 * Looks through the places, span by span from the newest, until the page is full, all is seen, or the time is up: a
 * server without a full-text index may take minutes for a large account.
 * @returns from when on all that there is was offered; null: all of it
 */
async function* findBest(finding: Finding): AsyncGenerator<void, Date | null, void> {
  const { query, best } = finding
  const until = performance.now() + query.secondsWanted * 1000
  const total = query.places.reduce((sum, { size }) => sum + (size ?? Number.POSITIVE_INFINITY), 0)
  let places = query.places
  let length = SPAN_MS
  let span: Span = { from: null, to: null }
  if (total > MESSAGES_WITHOUT_SPANS) {
    const asked = earliest(query.before, query.position?.receivedAt ?? null)
    span = { ...spanBefore(earliest(asked, new Date()), length), to: null }
  }
  for (;;) {
    const begunAt = performance.now()
    places = yield* findInAll(finding, places, span)
    const { from } = span
    if (from === null || places.length === 0 || (query.after && from <= query.after)) return null
    const worst = best[query.limit]
    if (worst && worst.receivedAt >= from) return from
    const left = until - performance.now()
    const took = performance.now() - begunAt
    if (took > left) return from
    if (took * SPAN_GROWTH * 2 < left) length *= SPAN_GROWTH
    span = spanBefore(from, length)
  }
}

function spanBefore(to: Date, length: number): Span {
  const from = to.getTime() - length
  return { from: from < LONG_AGO ? null : new Date(from), to }
}

/** @returns the places that hold more than was looked at */
async function* findInAll(
  finding: Finding,
  places: readonly SearchPlace[],
  span: Span,
): AsyncGenerator<void, SearchPlace[], void> {
  const left: SearchPlace[] = []
  let refusal: ProviderFailure | null = null
  for (const place of places) {
    // What holds little is seen whole, so that it need not be opened for each span.
    const isWhole = span.from === null || (place.size ?? Number.POSITIVE_INFINITY) <= PLACE_WITHOUT_SPANS
    const shut = yield* findIn(finding, place, isWhole ? { ...span, from: null } : span)
    if (shut) refusal = shut
    else if (!isWhole) left.push(place)
  }
  if (refusal && refusal.kind !== 'not_found' && finding.uidValidities.size === 0) throw refusal
  return left
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
