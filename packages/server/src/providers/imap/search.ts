import { ProviderFailure } from '../failure.ts'
import { lowerBound, parseRanges, uidSets } from './compare.ts'
import type { CommandArguments } from './command.ts'
import type { ImapConnection } from './connection.ts'
import { numberOf, textOf } from './values.ts'

/**
 * Number of messages that one SEARCH covers: its answer and our memory stay small, however large the mailbox is.
 */
export const SEARCH_CHUNK = 10_000
const UIDS_PER_SET = 1000
/** Alternatives of one search, which are nested. */
const ALTERNATIVES_MAX = 20
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const DAY_MS = 24 * 60 * 60_000
/** RFC 9051 section 9: a year has four digits. */
const LAST_DAY = Date.UTC(9999, 11, 31)

const sequence = (value: string) => ({ type: 'SEQUENCE', value })
const atom = (value: string) => ({ type: 'ATOM', value })

/** The UIDs that match, ascending, out of at most `countMax` messages: a longer answer is wrong. */
async function search(
  connection: ImapConnection,
  criteria: CommandArguments,
  countMax: number,
): Promise<Uint32Array> {
  const found: number[] = []
  const { leftOut } = connection
  const hasEsearch = connection.has('ESEARCH')
  await connection.run({
    name: 'UID SEARCH',
    arguments: hasEsearch ? [atom('RETURN'), [atom('ALL')], ...criteria] : criteria,
    answers: {
      SEARCH(_, values) {
        for (const value of values) {
          const uid = numberOf(value)
          if (uid && found.length < countMax) found.push(uid)
        }
      },
      ESEARCH(_, values) {
        const at = values.findIndex(value => textOf(value)?.toUpperCase() === 'ALL')
        for (const [from, to] of at < 0 ? [] : parseRanges(textOf(values[at + 1]) ?? '')) {
          for (let uid = from; uid <= to && found.length < countMax; uid++) found.push(uid)
        }
      },
    },
  })
  if (connection.leftOut > leftOut)
    throw new ProviderFailure('unavailable', "The server's answer to a search is too long.")
  await connection.reopenIfEmptied()
  const uids = Uint32Array.from(found).toSorted()
  return uids.filter((uid, at) => uid > 0 && uid !== uids[at - 1])
}

/**
 * UIDs of the messages with these sequence numbers, ascending; with `since`, only of messages received around that time
 * or later.
 */
export function searchSequence(
  connection: ImapConnection,
  low: number,
  high: number,
  options: { uids?: string; since?: Date | null } = {},
): Promise<Uint32Array> {
  const criteria: CommandArguments = [sequence(`${low}:${high}`)]
  if (options.uids) criteria.push(atom('UID'), sequence(options.uids))
  if (options.since) criteria.push(atom('SINCE'), atom(formatDay(options.since)))
  return search(connection, criteria, high - low + 1)
}

/** The condition of a search. Times are only approximate: the caller checks the exact ones. */
export interface TextCriteria {
  /** Without line breaks. */
  text: string
  /** Only UIDs below this one. */
  below: number | null
  since: Date | null
  before: Date | null
}

/** UIDs of the messages with these sequence numbers whose header or body holds a text, ascending. */
export function searchText(
  connection: ImapConnection,
  low: number,
  high: number,
  { text, below, since, before }: TextCriteria,
): Promise<Uint32Array> {
  const isAscii = /^[\u0001-\u007f]*$/.test(text)
  const criteria: CommandArguments = isAscii ? [] : [atom('CHARSET'), atom('UTF-8')]
  criteria.push(sequence(`${low}:${high}`))
  if (below !== null) criteria.push(atom('UID'), sequence(`1:${below - 1}`))
  if (since) criteria.push(atom('SINCE'), atom(formatDay(since)))
  if (before) criteria.push(atom('BEFORE'), atom(formatDay(before, 2)))
  // RFC 9051 section 9: without UTF-8 support, a quoted string contains only ASCII.
  criteria.push(atom('TEXT'), { type: isAscii ? 'STRING' : 'LITERAL', value: text })
  return search(connection, criteria, high - low + 1)
}

/**
 * A day that is certainly early enough, or late enough: SINCE and BEFORE ignore time and zone (RFC 9051 section
 * 6.4.4), and the server's zone is not known.
 */
function formatDay(time: Date, daysLater = -1): string {
  const day = new Date(Math.min(Math.max(0, time.getTime() + daysLater * DAY_MS), LAST_DAY))
  return `${day.getUTCDate()}-${MONTHS[day.getUTCMonth()]}-${day.getUTCFullYear()}`
}

/**
 * UIDs from `uid` up among the first `exists` messages, ascending. Reads downward from the last message, so that
 * expunges in the meantime, which only lower the numbers of others, never make it skip one. They also leave a chunk with
 * fewer results, so only a chunk that mostly has no results reaches below `uid`.
 */
export async function searchFrom(
  connection: ImapConnection,
  uid: number,
  exists: number,
): Promise<Uint32Array> {
  await connection.reopenIfEmptied()
  const chunks: Uint32Array[] = []
  for (let high = Math.min(exists, existsIn(connection)); high > 0;) {
    const low = Math.max(1, high - SEARCH_CHUNK + 1)
    const below = chunks.at(-1)?.[0] ?? Number.POSITIVE_INFINITY
    // `n:*` always includes the last message as well (RFC 9051 section 9, seq-range).
    const found = await searchSequence(connection, low, high, { uids: `${uid}:*` })
    const fresh = found.subarray(lowerBound(found, uid)).filter(other => other < below)
    if (fresh.length > 0) chunks.push(fresh)
    const left = Math.min(high, existsIn(connection)) - low + 1
    if (left > 0 && fresh.length < left / 2) break
    high = Math.min(low - 1, existsIn(connection))
  }
  return concatenate(chunks.toReversed())
}

/** The given UIDs, ascending, that exist; with `since`, only of messages received around that time or later. */
export async function searchPresent(
  connection: ImapConnection,
  uids: Uint32Array | readonly number[],
  since: Date | null = null,
): Promise<Uint32Array> {
  const chunks: Uint32Array[] = []
  const window = since ? [atom('SINCE'), atom(formatDay(since))] : []
  for (const { set, from, to } of uidSets(uids, UIDS_PER_SET)) {
    chunks.push(await search(connection, [atom('UID'), sequence(set), ...window], to - from))
  }
  return concatenate(chunks)
}

/** UIDs of the messages of the open mailbox that are marked as deleted, ascending. */
export function searchDeleted(connection: ImapConnection): Promise<Uint32Array> {
  return search(connection, [atom('DELETED')], existsIn(connection))
}

/**
 * UIDs of the messages whose field contains a text, ascending. A field may contain more than the text.
 * @param text printable ASCII
 */
export function searchField(connection: ImapConnection, name: string, text: string): Promise<Uint32Array> {
  const criteria: CommandArguments = [atom('HEADER'), atom(name), { type: 'STRING', value: text }]
  return search(connection, criteria, existsIn(connection))
}

/** UIDs of the messages that were received around the time of one of the given ones, and are as long, ascending. */
export async function searchAlike(
  connection: ImapConnection,
  messages: ReadonlyArray<{ receivedAt: Date; size: number }>,
): Promise<Uint32Array> {
  const found = new Set<number>()
  for (let at = 0; at < messages.length; at += ALTERNATIVES_MAX) {
    const alternatives = messages
      .slice(at, at + ALTERNATIVES_MAX)
      .map(({ receivedAt, size }): CommandArguments => [
        atom('SINCE'),
        atom(formatDay(receivedAt)),
        atom('BEFORE'),
        atom(formatDay(receivedAt, 2)),
        atom('LARGER'),
        atom(String(Math.max(0, size - 1))),
        atom('SMALLER'),
        atom(String(size + 1)),
      ])
    const criteria = alternatives.reduce((one, other) => [atom('OR'), one, other])
    for (const uid of await search(connection, criteria, existsIn(connection))) found.add(uid)
  }
  return Uint32Array.from(found).toSorted()
}

/**
 * The number of messages below a UID that were received around `since` or later; null if the server cannot count.
 */
export async function countSince(
  connection: ImapConnection,
  below: number,
  since: Date,
): Promise<number | null> {
  if (!connection.has('ESEARCH') || below <= 1) return null
  let count: number | null = null
  const criteria = [atom('UID'), sequence(`1:${below - 1}`), atom('SINCE'), atom(formatDay(since))]
  await connection.run({
    name: 'UID SEARCH',
    arguments: [atom('RETURN'), [atom('COUNT')], ...criteria],
    answers: {
      ESEARCH(_, values) {
        const at = values.findIndex(value => textOf(value)?.toUpperCase() === 'COUNT')
        count = numberOf(values[at + 1])
      },
    },
  })
  await connection.reopenIfEmptied()
  return count
}

/** The number of messages of the open mailbox, as far as the server has reported it. */
function existsIn(connection: ImapConnection): number {
  return connection.selected?.exists ?? 0
}

function concatenate(chunks: readonly Uint32Array[]): Uint32Array {
  const whole = new Uint32Array(chunks.reduce((length, chunk) => length + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}
