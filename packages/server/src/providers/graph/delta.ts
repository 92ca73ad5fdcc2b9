import { ProviderFailure } from '../failure.ts'
import { LinkExpired } from './failure.ts'
import { type AskOptions, type GraphRequest, type Query, segment } from './api.ts'
import type { GraphConnection } from './graph-connection.ts'
import { STATE_FIELDS } from './message.ts'
import { type MessageState, statesSchema } from './resources.ts'

/** Items of a page. The default of 10 would cost a call for every ten messages. */
const PREFER = ['odata.maxpagesize=500']
const PAGE_BYTES_MAX = 16 * 1024 * 1024

/** An item as a delta names it. */
export interface DeltaItem {
  id: string
  '@removed'?: unknown
}

/** One page of the changes of a folder, or of a walk through all of it. */
export interface DeltaPage<Item extends DeltaItem = MessageState> {
  /** The items that are there, in the order in which they were named, each once. */
  items: Item[]
  /** Ids that left the folder, as far as this page goes: they may be elsewhere. */
  removed: string[]
  link: string
  /** Whether there is nothing more now. */
  isLast: boolean
}

/**
 * Begins a walk through all messages of a folder. It has no filter, since a delta with one ends after 5,000 messages as if
 * all had come; and few fields, which the link then keeps (learn.microsoft.com/graph/api/message-delta).
 */
export function beginWalk(
  connection: GraphConnection,
  source: string,
  options: AskOptions,
): Promise<DeltaPage> {
  return beginDelta(
    connection,
    { ...MESSAGES, path: `mailFolders/${segment(source)}/messages/delta`, query: { $select: STATE_FIELDS } },
    options,
  )
}

/** Throws `LinkExpired` if Graph does not know the link, or it leads out of the mailbox, which had another id before. */
export function readOn(connection: GraphConnection, link: string, options: AskOptions): Promise<DeltaPage> {
  return continueDelta(connection, link, MESSAGES, options)
}

/** The form of the pages of a delta. */
export interface DeltaForm<Item extends DeltaItem> {
  schema: GraphRequest<GivenPage<Item>>['schema']
  /** Preferences of each request, such as the size of a page. */
  prefer: readonly string[]
  answerBytesMax: number
  /** The fields of an item that say something. */
  given(item: Item): Item
}

interface GivenPage<Item> {
  value: Item[]
  '@odata.nextLink'?: string | undefined
  '@odata.deltaLink'?: string | undefined
}

const MESSAGES: DeltaForm<MessageState> = {
  schema: statesSchema,
  prefer: PREFER,
  answerBytesMax: PAGE_BYTES_MAX,
  given,
}

/** Begins a delta, whose links keep the query. */
export async function beginDelta<Item extends DeltaItem>(
  { api }: Pick<GraphConnection, 'api'>,
  { path, query, ...form }: DeltaForm<Item> & { path: string; query: Query },
  options: AskOptions,
): Promise<DeltaPage<Item>> {
  const { schema, prefer, answerBytesMax } = form
  const request = { path, query, schema, accepts: [200], answerBytesMax, prefer }
  const page = toPage((await api.ask(request, options)).value, form.given)
  api.requireOwn(page.link)
  return page
}

/** Goes on at the link of a page. Throws `LinkExpired` as `readOn` does. */
export async function continueDelta<Item extends DeltaItem>(
  { api }: Pick<GraphConnection, 'api'>,
  link: string,
  { schema, prefer, answerBytesMax, given: givenOf }: DeltaForm<Item>,
  options: AskOptions,
): Promise<DeltaPage<Item>> {
  const asked = { ...options, prefer, answerBytesMax }
  const page = toPage(await api.follow(link, schema, asked).catch(expireRefused), givenOf)
  api.requireOwn(page.link)
  if (!page.isLast && page.link === link)
    throw new LinkExpired('conflict', 'Microsoft Graph gave a link that leads to itself.')
  return page
}

function expireRefused(error: unknown): never {
  if (!(error instanceof ProviderFailure) || error.kind !== 'rejected') throw error
  throw new LinkExpired('conflict', error.message, { cause: error })
}

export function toPage<Item extends DeltaItem>(
  page: GivenPage<Item>,
  givenOf: (item: Item) => Item,
): DeltaPage<Item> {
  const { '@odata.nextLink': next, '@odata.deltaLink': last } = page
  const link = next ?? last
  // A page without a link cannot be gone on from.
  if (link === undefined) throw new LinkExpired('conflict', 'Microsoft Graph gave no link to later changes.')
  return { ...fold(page.value, givenOf), link, isLast: next === undefined }
}

/**
 * The items of a page, each once: an item may be named several times, with only the fields that changed. An item that is
 * also said to have left is looked at like one that is there.
 */
export function fold<Item extends DeltaItem>(
  items: readonly Item[],
  givenOf: (item: Item) => Item,
): Pick<DeltaPage<Item>, 'items' | 'removed'> {
  const there = new Map<string, Item>()
  const removed = new Set<string>()
  for (const item of items) {
    if (item['@removed'] !== undefined) removed.add(item.id)
    else there.set(item.id, { ...there.get(item.id), ...givenOf(item) })
  }
  for (const id of there.keys()) removed.delete(id)
  return { items: [...there.values()], removed: [...removed] }
}

/** The fields of a message that are given. */
export function given(item: MessageState): MessageState {
  const fields = Object.entries(item).filter(([, value]) => value !== undefined && value !== null)
  return { ...(Object.fromEntries(fields) as Partial<MessageState>), id: item.id }
}
