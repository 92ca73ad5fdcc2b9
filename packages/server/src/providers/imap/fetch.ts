import { type MessageSummary, summarize } from '../../kit/mime/summary.ts'
import { ProviderFailure } from '../failure.ts'
import type { RemoteMessage } from '../mail.ts'
import { uidSets } from './compare.ts'
import type { CommandArguments } from './command.ts'
import type { ImapConnection } from './connection.ts'
import { searchPresent } from './search.ts'
import type { Suspicions } from './suspicions.ts'
import { type FetchedMessage, readFetched, readStructure, toRemoteMessage } from './translate.ts'

/** Nearly every message has its header and the beginning of its text within this size. */
const SOURCE_BYTES = 16 * 1024
/**
 * For messages with a longer header, or whose text begins later: nearly all of them have both within this size.
 */
const LONG_SOURCE_BYTES = 256 * 1024
/** Bytes of messages whose structures are requested together, unless one alone is larger. */
const STRUCTURED_BYTES_AT_ONCE = 32 * 1024 * 1024
export const MESSAGES_PER_FETCH = 500
/** This many refusals in a row without a single message are a problem of the server. */
const HOPELESS = 16

/** The mailbox from which messages are fetched. */
export interface FetchPlace {
  connection: ImapConnection
  mailboxKey: string
  uidValidity: number
  suspicions: Suspicions
  /** Whether somebody reads invitations among its messages, so that it is worth a request to find them. */
  seeksInvitations: boolean
}

export interface FetchResult {
  messages: RemoteMessage[]
  unreadable: Array<{ key: number; reason: string }>
  /** The highest message number that one of the messages came under. */
  numberMax: number
}

const atom = (value: string) => ({ type: 'ATOM', value })
const sequence = (value: string) => ({ type: 'SEQUENCE', value })
const part = (bytes: number) => ({ type: 'ATOM', value: 'BODY.PEEK', section: [], partial: [0, bytes] })

/**
 * Fetches the fields of at most 500 messages that the index shows. Messages that no longer exist are left out. Messages
 * that the server lists but does not return, or over which connections died, are `unreadable`.
 */
export async function fetchMessages(place: FetchPlace, uids: readonly number[]): Promise<FetchResult> {
  const { suspicions, mailboxKey, uidValidity } = place
  const result: FetchResult = { messages: [], unreadable: [], numberMax: 0 }
  const { groups, poison } = suspicions.plan(mailboxKey, uidValidity, uids)
  for (const key of poison)
    result.unreadable.push({ key, reason: 'The connection ends whenever it is read.' })
  for (const group of groups) {
    const outstanding = new Set(group)
    try {
      await fetchGroup(place, group, outstanding, result)
      suspicions.clear(mailboxKey, uidValidity, group)
    } catch (error) {
      if (place.connection.isClosed) suspicions.accuse(mailboxKey, uidValidity, [...outstanding])
      throw error
    }
  }
  suspicions.clear(mailboxKey, uidValidity, poison)
  return result
}

interface Read {
  number: number
  fetched: FetchedMessage
  summary: MessageSummary
  /** Whether the message may continue after the fetched part. */
  isCut: boolean
}

/** A group that is being fetched. */
interface Reading {
  place: FetchPlace
  /** Messages of which something is still to come that might end the connection. */
  outstanding: Set<number>
  read: Map<number, Read>
  unreadable: Map<number, string>
}

async function fetchGroup(
  place: FetchPlace,
  uids: readonly number[],
  outstanding: Set<number>,
  result: FetchResult,
): Promise<void> {
  const reading: Reading = { place, outstanding, read: new Map(), unreadable: new Map() }
  await readSources(reading, uids)
  const read = [...reading.read.values()]
  await completeBeginnings(place, read)
  await completeStructures(place, read)
  for (const uid of uids) {
    const entry = reading.read.get(uid)
    const reason = reading.unreadable.get(uid)
    result.numberMax = Math.max(result.numberMax, entry?.number ?? 0)
    if (entry) result.messages.push(toRemoteMessage(entry.fetched, entry.summary, place.mailboxKey))
    else if (reason !== undefined) result.unreadable.push({ key: uid, reason })
  }
}

/**
 * Fetches messages. If some do not come although they exist, halves are fetched again until it is known which.
 */
async function readSources(reading: Reading, uids: readonly number[]): Promise<void> {
  const { place, read, unreadable, outstanding } = reading
  const refusal = await askSources(reading, uids)
  const absent = uids.filter(uid => !read.has(uid)).toSorted((a, b) => a - b)
  if (absent.length === 0) return
  const missing = [...(await searchPresent(place.connection, absent))]
  if (uids.length > 1) {
    const size = refusal ? Math.ceil(missing.length / 2) : 1
    for (let at = 0; at < missing.length; at += size) await readSources(reading, missing.slice(at, at + size))
    return
  }
  for (const uid of missing) {
    unreadable.set(uid, refusal?.message ?? 'The server lists it and does not give it.')
    outstanding.delete(uid)
  }
  // A server that returns nothing at all has a problem; its messages do not.
  if (refusal && read.size === 0 && unreadable.size >= HOPELESS && !isFinal(refusal)) throw refusal
}

/** One FETCH of sources. Each is summarised when it arrives, so that only summaries stay in memory. */
function askSources(
  { place, outstanding, read }: Reading,
  uids: readonly number[],
): Promise<ProviderFailure | null> {
  const { connection } = place
  const items: CommandArguments = ['UID', 'FLAGS', 'INTERNALDATE', 'RFC822.SIZE'].map(atom)
  items.push(part(SOURCE_BYTES))
  if (connection.has('OBJECTID')) items.push(atom('EMAILID'), atom('THREADID'))
  else if (connection.has('X-GM-EXT-1')) items.push(atom('X-GM-MSGID'), atom('X-GM-THRID'))
  const wanted = new Set(uids)
  return fetchItems(connection, uids, items, (fetched, number) => {
    const { source, uid, size } = fetched
    if (!source || !wanted.has(uid)) return
    // The entry is kept until the group is complete, so the source is dropped.
    fetched.source = null
    fetched.structure = undefined
    const isCut = isCutAt(SOURCE_BYTES, source, size)
    const entry = { number, fetched, summary: summarize(source.subarray(0, SOURCE_BYTES), isCut), isCut }
    read.set(uid, entry)
    // A message that needs nothing more is done; only the others can still end the connection.
    if (!needsMore(entry) && !needsStructure(place, entry)) outstanding.delete(uid)
  })
}

/** RFC822.SIZE is an estimate on some servers. */
function isCutAt(bytes: number, source: Buffer, size: number): boolean {
  return size > bytes || source.length >= bytes
}

/** Whether more of the message could show its header, or the beginning of its text. */
function needsMore({ summary, isCut }: Read): boolean {
  return isCut && (!summary.isHeaderComplete || summary.mayShowText)
}

function needsStructure({ seeksInvitations }: FetchPlace, { summary, isCut }: Read): boolean {
  if (!isCut || !summary.isMultipart) return false
  return !summary.hasAttachments || (seeksInvitations && !summary.mayBeInvitation)
}

async function completeBeginnings({ connection }: FetchPlace, read: readonly Read[]): Promise<void> {
  const cut = new Map(read.flatMap(entry => (needsMore(entry) ? [[entry.fetched.uid, entry] as const] : [])))
  await fetchItems(connection, [...cut.keys()], [atom('UID'), part(LONG_SOURCE_BYTES)], ({ uid, source }) => {
    const entry = cut.get(uid)
    if (!entry || !source) return
    entry.isCut = isCutAt(LONG_SOURCE_BYTES, source, entry.fetched.size)
    entry.summary = summarize(source.subarray(0, LONG_SOURCE_BYTES), entry.isCut)
  })
}

async function completeStructures(place: FetchPlace, read: readonly Read[]): Promise<void> {
  const { connection } = place
  const unsure = new Map(
    read.flatMap(entry => (needsStructure(place, entry) ? [[entry.fetched.uid, entry] as const] : [])),
  )
  for (const uids of inGroups([...unsure].map(([uid, { fetched }]) => ({ uid, size: fetched.size })))) {
    await fetchItems(connection, uids, [atom('UID'), atom('BODYSTRUCTURE')], ({ uid, structure }) => {
      const entry = unsure.get(uid)
      if (!entry) return
      const { hasAttachments, hasCalendar } = readStructure(structure)
      entry.summary.hasAttachments ||= hasAttachments
      entry.summary.mayBeInvitation ||= hasCalendar
    })
  }
}

/** A structure is at most a few times as long as its message, so this bounds the answer to one command. */
function inGroups(messages: ReadonlyArray<{ uid: number; size: number }>): number[][] {
  const groups: number[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const { uid, size } of messages) {
    if (bytes + size > STRUCTURED_BYTES_AT_ONCE) {
      groups.push([])
      bytes = 0
    }
    groups.at(-1)?.push(uid)
    bytes += size
  }
  return groups
}

/**
 * Fetches items of messages, which may no longer exist.
 * @returns the server's text if it refused to return everything (RFC 9051 section 6.4.5); it returned the rest
 */
export async function fetchItems(
  connection: ImapConnection,
  uids: readonly number[],
  items: CommandArguments,
  take: (fetched: FetchedMessage, number: number) => void,
): Promise<ProviderFailure | null> {
  let refusal: ProviderFailure | null = null
  for (const { set } of uidSets(
    uids.toSorted((a, b) => a - b),
    MESSAGES_PER_FETCH,
  )) {
    try {
      await connection.run({
        name: 'UID FETCH',
        arguments: [sequence(set), items],
        answers: {
          FETCH(number, values) {
            const fetched = readFetched(values[0])
            if (fetched) take(fetched, number)
          },
        },
      })
    } catch (error) {
      if (connection.isClosed || !(error instanceof ProviderFailure) || error.kind === 'throttled')
        throw error
      refusal = error
    }
  }
  return refusal
}

function isFinal({ kind }: ProviderFailure): boolean {
  return kind !== 'unavailable'
}
