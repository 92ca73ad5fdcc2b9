import { ProviderFailure } from '../failure.ts'
import { LinkExpired } from './failure.ts'
import type { AskOptions } from './api.ts'
import { segment } from './api.ts'
import type { GraphConnection } from './graph-connection.ts'
import { STATE_FIELDS } from './message.ts'
import { type MessageState, statesSchema } from './resources.ts'

/** Items of a page. The default of 10 would cost a call for every ten messages. */
const PREFER = ['odata.maxpagesize=500']
const PAGE_BYTES_MAX = 16 * 1024 * 1024

/** One page of the changes of a folder, or of a walk through all of it. */
export interface DeltaPage {
  /** The messages that are there, in the order in which they were named, each once. */
  items: MessageState[]
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
export async function beginWalk(
  { api }: GraphConnection,
  source: string,
  options: AskOptions,
): Promise<DeltaPage> {
  const { value } = await api.ask(
    {
      path: `mailFolders/${segment(source)}/messages/delta`,
      query: { $select: STATE_FIELDS },
      schema: statesSchema,
      accepts: [200],
      answerBytesMax: PAGE_BYTES_MAX,
      prefer: PREFER,
    },
    options,
  )
  const page = toPage(value)
  api.requireOwn(page.link)
  return page
}

/** Throws `LinkExpired` if Graph does not know the link, or it leads out of the mailbox, which had another id before. */
export async function readOn(
  { api }: GraphConnection,
  link: string,
  options: AskOptions,
): Promise<DeltaPage> {
  const asked = { ...options, prefer: PREFER, answerBytesMax: PAGE_BYTES_MAX }
  const page = toPage(await api.follow(link, statesSchema, asked).catch(expireRefused))
  api.requireOwn(page.link)
  if (!page.isLast && page.link === link)
    throw new LinkExpired('conflict', 'Microsoft Graph gave a link that leads to itself.')
  return page
}

function expireRefused(error: unknown): never {
  if (!(error instanceof ProviderFailure) || error.kind !== 'rejected') throw error
  throw new LinkExpired('conflict', error.message, { cause: error })
}

export function toPage(page: {
  value: readonly MessageState[]
  '@odata.nextLink'?: string | undefined
  '@odata.deltaLink'?: string | undefined
}): DeltaPage {
  const { '@odata.nextLink': next, '@odata.deltaLink': last } = page
  const link = next ?? last
  // A page without a link cannot be gone on from.
  if (link === undefined) throw new LinkExpired('conflict', 'Microsoft Graph gave no link to later changes.')
  return { ...fold(page.value), link, isLast: next === undefined }
}

/**
 * The messages of a page, each once: an item may be named several times, with only the fields that changed. A message that
 * is also said to have left is looked at like one that is there.
 */
export function fold(items: readonly MessageState[]): Pick<DeltaPage, 'items' | 'removed'> {
  const there = new Map<string, MessageState>()
  const removed = new Set<string>()
  for (const item of items) {
    if (item['@removed'] !== undefined) removed.add(item.id)
    else there.set(item.id, { ...there.get(item.id), ...given(item) })
  }
  for (const id of there.keys()) removed.delete(id)
  return { items: [...there.values()], removed: [...removed] }
}

/** The fields of an item that are given. */
function given(item: MessageState): MessageState {
  const fields = Object.entries(item).filter(([, value]) => value !== undefined && value !== null)
  return { ...(Object.fromEntries(fields) as Partial<MessageState>), id: item.id }
}
