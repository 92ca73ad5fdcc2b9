import { ProviderFailure } from '../failure.ts'
import type { RemoteMessage } from '../mail.ts'
import type { SearchHit, SearchPage, SearchPlace, SearchPosition, SearchQuery } from '../search.ts'
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
import type { TrackedMailboxes } from './follow.ts'

/** Up to this many messages are searched at once, unless the server is slow; of more, the newest first. */
const MESSAGES_WITHOUT_SPANS = 20_000
const PLACE_WITHOUT_SPANS = 500
const SPAN_MS = 30 * 24 * 60 * 60_000
const SPAN_GROWTH = 4
/** SINCE and BEFORE compare days: a shorter span would hardly be less work for the server. */
const SPAN_MS_MIN = SPAN_MS / SPAN_GROWTH ** 2
/** Share of the wanted time that one span may take before anything is certain. */
const PATIENCE = 1 / 3
/** Everything older is one span. */
const LONG_AGO = Date.UTC(2000, 0, 1)
const EVER: Span = { from: null, to: null }
/** Stands for a message's mailbox if a page ended for lack of time. */
const ENDED_EARLY = ''

/** `SearchProvider.search` on IMAP. */
export async function* findMessages(
  tracked: TrackedMailboxes,
  query: SearchQuery,
): AsyncGenerator<void, SearchPage, void> {
  // A line break would start another command; a text that fits no command line is not sent at all.
  if (/[\u0000\r\n]/.test(query.text))
    throw new ProviderFailure('rejected', 'The server cannot search for line breaks.')
  const finding: Finding = {
    tracked,
    query,
    best: [],
    uidValidities: new Map(),
    messagesAtOnce: MESSAGES_AT_FIRST,
    messagesSeen: 0,
    isLate: () => false,
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
  return {
    hits,
    next: sureFrom && { receivedAt: new Date(sureFrom.getTime() - 1), placeId: ENDED_EARLY, key: 0 },
  }
}

/**
 * Searches the sources, span by span from the newest, until the page is full, everything is searched, or the time is
 * up: a server without a full-text index may take minutes for a large account. A span that takes too long before
 * anything is certain is started again with a shorter one; messages that were found remain.
 * @returns the start of the period that was searched completely; null if everything was
 */
async function* findBest(finding: Finding): AsyncGenerator<void, Date | null, void> {
  const { query, best } = finding
  const until = performance.now() + query.secondsWanted * 1000
  let { places } = query
  let length = SPAN_MS
  let span = isAtOnce(query) ? EVER : newestSpan(query, length)
  let placeAtOnce = PLACE_WITHOUT_SPANS
  let sureFrom: Date | null = null
  for (;;) {
    const begunAt = performance.now()
    finding.isLate = sureFrom ? () => performance.now() > until : impatience(finding, span, length)
    const { left, isLate } = yield* findInAll(finding, places, { span, placeAtOnce })
    places = left
    if (isLate) {
      if (sureFrom) return sureFrom
      if (span !== EVER) length /= SPAN_GROWTH
      span = newestSpan(query, length)
      placeAtOnce = 0
      continue
    }
    const { from } = span
    if (from === null || places.length === 0 || (query.after && from <= query.after)) return null
    const worst = best[query.limit]
    if (worst && worst.receivedAt >= from) return from
    const remaining = until - performance.now()
    const took = performance.now() - begunAt
    if (took > remaining) return from
    if (took * SPAN_GROWTH * 2 < remaining) length *= SPAN_GROWTH
    sureFrom = from
    span = spanBefore(from, length)
  }
}

/** Whether everything may be searched as one span. After a page that ended early, this is not tried. */
function isAtOnce({ places, position }: SearchQuery): boolean {
  return position?.placeId !== ENDED_EARLY && messagesIn(places) <= MESSAGES_WITHOUT_SPANS
}

function messagesIn(places: readonly SearchPlace[]): number {
  return places.reduce((sum, { size }) => sum + (size ?? Number.POSITIVE_INFINITY), 0)
}

/**
 * Returns when a span that begins now should be given up. A span over everything is given up only if it will not end
 * in time.
 */
function impatience(finding: Finding, span: Span, length: number): () => boolean {
  const { places, secondsWanted } = finding.query
  if (span !== EVER && (span.from === null || length <= SPAN_MS_MIN)) return () => false
  const total = span === EVER ? messagesIn(places) : Number.POSITIVE_INFINITY
  const begunAt = performance.now()
  return () => {
    const share = (performance.now() - begunAt) / (secondsWanted * 1000)
    return share > PATIENCE && finding.messagesSeen / total < share
  }
}

/** Reaches into the future, because clocks differ. */
function newestSpan({ before, position }: SearchQuery, length: number): Span {
  const to = earliest(earliest(before, position?.receivedAt ?? null), new Date())
  return { ...spanBefore(to, length), to: null }
}

function spanBefore(to: Date, length: number): Span {
  const from = to.getTime() - length
  return { from: from < LONG_AGO ? null : new Date(from), to }
}

/** @returns the sources that may have more than was searched */
async function* findInAll(
  finding: Finding,
  places: readonly SearchPlace[],
  { span, placeAtOnce }: { span: Span; placeAtOnce: number },
): AsyncGenerator<void, { left: SearchPlace[]; isLate: boolean }, void> {
  const left: SearchPlace[] = []
  let refusal: ProviderFailure | null = null
  for (const [nth, place] of places.entries()) {
    const unseen = () => ({ left: [...left, ...places.slice(nth)], isLate: true })
    if (finding.isLate()) return unseen()
    // Small sources are searched completely, so that they need not be opened for each span.
    const isWhole = span.from === null || (place.size ?? Number.POSITIVE_INFINITY) <= placeAtOnce
    const found = yield* findIn(finding, place, isWhole ? { ...span, from: null } : span)
    if (found === 'late') return unseen()
    if (found) refusal = found
    else if (!isWhole) left.push(place)
  }
  if (refusal && refusal.kind !== 'not_found' && finding.uidValidities.size === 0) throw refusal
  return { left, isLate: false }
}

function toPosition({ receivedAt, placeId, key }: SearchPosition): SearchPosition {
  return { receivedAt, placeId, key }
}

/** Fetches the candidates that the index lacks, with the fields that it would show. */
async function* readUnknown(
  finding: Finding,
  page: readonly Candidate[],
): AsyncGenerator<void, Map<Candidate, RemoteMessage>, void> {
  const { tracked, query } = finding
  const { connection, suspicions } = tracked
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
      // Invitations are read when they arrive.
      { connection, mailboxKey: place.source, uidValidity, suspicions, seeksInvitations: false },
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
