import { ProviderFailure } from '../failure.ts'
import type { FollowOptions, RemoteMessage, UnreadableMessage } from '../mail.ts'
import type { AskOptions } from './api.ts'
import type { ListPosition } from './cursor.ts'
import { fetchMessages } from './fetch.ts'
import { isHidden } from './folders.ts'
import type { GraphConnection } from './graph-connection.ts'
import { listFolder, type Listing, type ListQuery } from './list-folder.ts'
import { MESSAGE_QUERY, toRemoteMessage } from './message.ts'
import { type GraphMessage, messagesSchema, statesSchema } from './resources.ts'

type PageQuery = Omit<ListQuery<unknown>, 'schema' | 'query'>

export interface WholePage {
  /** Number of messages on the page. */
  count: number
  /** Null after the last page. */
  next: ListPosition | null
  /** Number of all messages in the window, if it was asked for. */
  total: number | null
  /** The messages that the index lacks, in the order of the list. */
  messages: RemoteMessage[]
  unreadable: UnreadableMessage[]
}

/**
 * One page of the messages of a folder, with all that the index shows of those that it lacks. If a message makes the page
 * too large or otherwise unreadable, the page is listed by ids, and the messages are fetched: only that one is left out.
 */
export async function listWhole(
  connection: GraphConnection,
  source: string,
  query: PageQuery,
  options: FollowOptions,
  urgency: AskOptions['urgency'],
): Promise<WholePage> {
  const ask = { signal: options.signal, urgency }
  const whole = query.position.isOfIds === true ? null : await tryWhole(connection, source, query, ask)
  if (whole) {
    const wanted = await lackingOf(whole.items, options)
    return { ...partsOf(whole), messages: await toMessages(connection, source, wanted, ask), unreadable: [] }
  }
  const page = await listIds(connection, source, query, ask)
  const wanted = await lackingOf(page.items, options)
  const ids = wanted.map(({ id }) => id)
  const { messages, unreadable } = await fetchMessages(connection, ids, ask)
  return { ...partsOf(page), messages, unreadable }
}

function partsOf({ items, next, total }: Listing<unknown>): Pick<WholePage, 'count' | 'next' | 'total'> {
  return { count: items.length, next, total }
}

/** Null if the page cannot be read. If Graph does not answer at all, the next call to it shows that. */
async function tryWhole(
  connection: GraphConnection,
  source: string,
  query: PageQuery,
  ask: AskOptions,
): Promise<Listing<GraphMessage> | null> {
  try {
    return await listFolder(
      connection,
      source,
      { ...query, schema: messagesSchema, query: MESSAGE_QUERY },
      ask,
    )
  } catch (error) {
    const isUnreadable = error instanceof ProviderFailure && error.kind === 'unavailable' && !error.isBusy
    if (!isUnreadable || ask.signal?.aborted) throw error
    return null
  }
}

/** A page of ids. A link to whole messages is not followed: the messages of its second are listed from the first. */
async function listIds(
  connection: GraphConnection,
  source: string,
  { position, ...query }: PageQuery,
  ask: AskOptions,
): Promise<Listing<{ id: string }>> {
  const page = await listFolder(
    connection,
    source,
    {
      ...query,
      schema: statesSchema,
      query: { $select: 'id,receivedDateTime' },
      position: position.isOfIds === true ? position : { ...position, link: null },
    },
    ask,
  )
  return { ...page, next: page.next && { ...page.next, isOfIds: page.next.link !== null } }
}

async function lackingOf<T extends { id: string }>(
  items: readonly T[],
  { skip, lacking }: FollowOptions,
): Promise<T[]> {
  const due = items.filter(({ id }) => !skip.has(id))
  const missing = new Set(due.length === 0 ? [] : await lacking(due.map(({ id }) => id)))
  return due.filter(({ id }) => missing.has(id))
}

async function toMessages(
  connection: GraphConnection,
  source: string,
  items: readonly GraphMessage[],
  options: AskOptions,
): Promise<RemoteMessage[]> {
  const messages: RemoteMessage[] = []
  for (const item of items) {
    const parentFolderId = item.parentFolderId ?? source
    if (!(await isHidden(connection, parentFolderId, options)))
      messages.push(toRemoteMessage({ ...item, parentFolderId }))
  }
  return messages
}
