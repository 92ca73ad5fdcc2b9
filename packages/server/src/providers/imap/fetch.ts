import { type MessageSummary, summarize } from '../../kit/mime/summary.ts'
import { ProviderFailure, type RemoteMessage } from '../provider.ts'
import { uidSets } from './compare.ts'
import type { CommandArguments, ImapConnection } from './connection.ts'
import { searchPresent } from './search.ts'
import type { Suspicions } from './suspicions.ts'
import { type FetchedMessage, readFetched, showsAttachment, toRemoteMessage } from './translate.ts'

/** The header of nearly every message and the beginning of its text lie within it. */
const SOURCE_BYTES = 16 * 1024
const HEADER_BYTES = 256 * 1024
export const MESSAGES_PER_FETCH = 500

/** Where messages are fetched from. */
export interface FetchPlace {
  connection: ImapConnection
  mailboxKey: string
  uidValidity: number
  suspicions: Suspicions
}

export interface FetchResult {
  messages: RemoteMessage[]
  unreadable: Array<{ key: number; reason: string }>
}

const atom = (value: string) => ({ type: 'ATOM', value })
const sequence = (value: string) => ({ type: 'SEQUENCE', value })
const part = (section: string | null, bytes: number) => ({
  type: 'ATOM',
  value: 'BODY.PEEK',
  section: section === null ? [] : [atom(section)],
  partial: [0, bytes],
})

/**
 * Fetches what the index shows of at most 500 messages. Those that are no longer there are left out; those that the
 * server lists and does not give, or over which connections died, are `unreadable`.
 */
export async function fetchMessages(place: FetchPlace, uids: readonly number[]): Promise<FetchResult> {
  const { suspicions, mailboxKey, uidValidity } = place
  const result: FetchResult = { messages: [], unreadable: [] }
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

async function fetchGroup(
  place: FetchPlace,
  uids: readonly number[],
  outstanding: Set<number>,
  result: FetchResult,
): Promise<void> {
  // What is whole needs nothing more; only the others can still take the connection with them.
  const onRead = ({ fetched, summary }: Read) => isWhole(fetched, summary) && outstanding.delete(fetched.uid)
  const read = await fetchSources(place, uids, onRead)
  const received = new Set(read.map(({ fetched }) => fetched.uid))
  const missing = uids.filter(uid => !received.has(uid))
  if (missing.length > 0) {
    for (const uid of await searchPresent(
      place.connection,
      missing.toSorted((a, b) => a - b),
    )) {
      const [alone] = await fetchSources(place, [uid], onRead)
      if (alone) read.push(alone)
      else result.unreadable.push({ key: uid, reason: 'The server lists it and does not give it.' })
      if (!alone) outstanding.delete(uid)
    }
  }
  await completeHeaders(place, read)
  await completeStructures(place, read)
  const byUid = new Map(read.map(entry => [entry.fetched.uid, entry]))
  for (const uid of uids) {
    const entry = byUid.get(uid)
    if (entry) result.messages.push(toRemoteMessage(entry.fetched, entry.summary, place.mailboxKey))
  }
}

interface Read {
  fetched: FetchedMessage
  summary: MessageSummary
}

/** One FETCH of sources, each summarised as it arrives, so that only the summaries stay in memory. */
async function fetchSources(
  { connection }: FetchPlace,
  uids: readonly number[],
  onRead: (read: Read) => void,
): Promise<Read[]> {
  const items: CommandArguments = [
    atom('UID'),
    atom('FLAGS'),
    atom('INTERNALDATE'),
    atom('RFC822.SIZE'),
    part(null, SOURCE_BYTES),
  ]
  if (connection.has('OBJECTID')) items.push(atom('EMAILID'), atom('THREADID'))
  else if (connection.has('X-GM-EXT-1')) items.push(atom('X-GM-MSGID'), atom('X-GM-THRID'))
  const wanted = new Set(uids)
  const read = new Map<number, Read>()
  await fetchItems(connection, uids, items, fetched => {
    const { source } = fetched
    if (!source || !wanted.has(fetched.uid)) return
    fetched.source = null
    const entry = { fetched, summary: summarize(source) }
    read.set(fetched.uid, entry)
    onRead(entry)
  })
  return [...read.values()]
}

function isWhole({ size }: FetchedMessage, summary: MessageSummary): boolean {
  return size <= SOURCE_BYTES || (summary.isHeaderComplete && !needsStructure(size, summary))
}

function needsStructure(size: number, { isMultipart, hasAttachments }: MessageSummary): boolean {
  return size > SOURCE_BYTES && isMultipart && !hasAttachments
}

async function completeHeaders({ connection }: FetchPlace, read: readonly Read[]): Promise<void> {
  const cut = new Map(
    read.flatMap(entry =>
      entry.summary.isHeaderComplete || entry.fetched.size <= SOURCE_BYTES
        ? []
        : [[entry.fetched.uid, entry] as const],
    ),
  )
  await fetchItems(
    connection,
    [...cut.keys()],
    [atom('UID'), part('HEADER', HEADER_BYTES)],
    ({ uid, source }) => {
      const entry = cut.get(uid)
      if (entry && source) entry.summary = summarize(source)
    },
  )
}

async function completeStructures({ connection }: FetchPlace, read: readonly Read[]): Promise<void> {
  const unsure = new Map(
    read.flatMap(entry =>
      needsStructure(entry.fetched.size, entry.summary) ? [[entry.fetched.uid, entry] as const] : [],
    ),
  )
  await fetchItems(
    connection,
    [...unsure.keys()],
    [atom('UID'), atom('BODYSTRUCTURE')],
    ({ uid, structure }) => {
      const entry = unsure.get(uid)
      if (entry) entry.summary.hasAttachments = showsAttachment(structure)
    },
  )
}

async function fetchItems(
  connection: ImapConnection,
  uids: readonly number[],
  items: CommandArguments,
  take: (fetched: FetchedMessage) => void,
): Promise<void> {
  for (const { set } of uidSets(
    uids.toSorted((a, b) => a - b),
    MESSAGES_PER_FETCH,
  )) {
    try {
      await connection.run({
        name: 'UID FETCH',
        arguments: [sequence(set), items],
        answers: {
          FETCH(_, values) {
            const fetched = readFetched(values[0])
            if (fetched) take(fetched)
          },
        },
      })
    } catch (error) {
      // RFC 9051 section 6.4.5 lets a server answer NO when it cannot give some of what was asked; the rest it gave.
      if (connection.isClosed || !isRefused(error)) throw error
    }
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof ProviderFailure && ['rejected', 'not_found', 'forbidden'].includes(error.kind)
}
