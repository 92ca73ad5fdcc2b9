import { ProviderFailure } from '../failure.ts'
import type { RemoteMessage } from '../mail.ts'
import type {
  SearchHit,
  SearchPage,
  SearchPlace,
  SearchPosition,
  SearchProvider,
  SearchQuery,
} from '../search.ts'
import { BATCH_PARTS_MAX } from './api.ts'
import { hasLabel } from './ask-label.ts'
import { fetchMessages, idsOf, wantMessage } from './fetch.ts'
import type { GmailConnection } from './gmail-connection.ts'
import { ALL_MAIL_KEY } from './labels.ts'
import { afterTerms } from './listing.ts'
import { messagesSchema } from './resources.ts'
import { UNITS } from './units.ts'

const IDS_PER_PAGE = 100
/** Pages that a search may request before it ends its page early. */
const PAGES_MAX = 10
/** Gmail's order is nearly, but not surely, newest first: that many more are looked at than wanted. */
const MORE_THAN_WANTED = 10
const TEXT_LENGTH_MAX = 2_000

export function gmailSearch(connection: GmailConnection): SearchProvider {
  return { search: query => search(connection, query) }
}

async function* search(
  connection: GmailConnection,
  query: SearchQuery,
): AsyncGenerator<void, SearchPage, void> {
  const { places, position, limit } = query
  const [place] = places
  if (!place) return { hits: [], next: null }
  if (query.text.length > TEXT_LENGTH_MAX)
    throw new ProviderFailure('rejected', 'The search text is too long.')
  const hits: SearchHit[] = []
  let token: string | undefined
  let hasMore = true
  for (let pages = 0; hits.length < limit + MORE_THAN_WANTED && hasMore && pages < PAGES_MAX; pages += 1) {
    const page = await askPage(connection, query, token)
    yield
    for (let at = 0; at < page.ids.length && hits.length < limit + MORE_THAN_WANTED; at += BATCH_PARTS_MAX) {
      const ids = page.ids.slice(at, at + BATCH_PARTS_MAX)
      const found = await toHits(connection, query, ids, limit + MORE_THAN_WANTED - hits.length)
      yield
      hits.push(...found.filter(hit => isWanted(hit, query) && isAfter(hit, position)))
    }
    hasMore = page.next !== undefined && page.next !== token
    token = page.next
  }
  const sorted = hits.toSorted(newestFirst)
  const shown = sorted.slice(0, limit)
  const last = shown.at(-1)
  const isWhole = !hasMore && sorted.length <= limit
  return { hits: shown, next: isWhole || !last ? null : toPosition(last) }
}

async function askPage(
  { api, signal }: GmailConnection,
  { text, places, after, before, position }: SearchQuery,
  pageToken: string | undefined,
): Promise<{ ids: string[]; next: string | undefined }> {
  const labelId = labelOf(places)
  const until = position && (!before || position.receivedAt < before) ? position.receivedAt : before
  // A search has only seconds: messages outside the exact time are left out afterwards.
  const terms = [
    text,
    ...afterTerms(after?.getTime() ?? null),
    ...(until ? [`before:${Math.floor(until.getTime() / 1_000) + 2}`] : []),
  ]
  const request = {
    path: 'messages',
    query: {
      q: terms.join(' '),
      labelIds: labelId,
      includeSpamTrash: labelId === 'TRASH' || labelId === 'SPAM' ? true : undefined,
      maxResults: IDS_PER_PAGE,
      pageToken,
      fields: 'messages(id,threadId),nextPageToken',
    },
    units: UNITS.messagesList,
    schema: messagesSchema,
  }
  try {
    const { messages, nextPageToken } = await api.ask(request, { signal })
    return { ids: messages.map(({ id }) => id), next: nextPageToken }
  } catch (error) {
    if (labelId === undefined || !(error instanceof ProviderFailure) || error.kind !== 'rejected') throw error
    // Gmail refuses a search in a label that is gone, as it refuses a query that it does not understand.
    if (await hasLabel(api, labelId, { signal })) throw error
    return { ids: [], next: undefined }
  }
}

/** The label to search in; without one everything but Spam and Trash. */
function labelOf([place, ...others]: readonly SearchPlace[]): string | undefined {
  return !place || others.length > 0 || place.mailboxKey === ALL_MAIL_KEY ? undefined : place.mailboxKey
}

/** Messages that the index holds need not be fetched. Of the others, at most `fetchedMax` are. */
async function toHits(
  connection: GmailConnection,
  { places, known }: SearchQuery,
  ids: readonly string[],
  fetchedMax: number,
): Promise<SearchHit[]> {
  const placeId = places[0]!.id
  const indexed = await known(placeId, ids)
  const unknown = ids.filter(id => !indexed.has(id)).slice(0, fetchedMax)
  const messages = await fetchAll(connection, unknown)
  return [
    ...ids.flatMap((key): SearchHit[] => {
      const receivedAt = indexed.get(key)
      return receivedAt ? [{ key, receivedAt, placeId, message: null }] : []
    }),
    ...messages.map(message => ({
      key: message.key,
      receivedAt: message.receivedAt,
      placeId: places.find(({ mailboxKey }) => message.mailboxKeys.includes(mailboxKey))?.id ?? placeId,
      message,
    })),
  ]
}

async function fetchAll(connection: GmailConnection, ids: readonly string[]): Promise<RemoteMessage[]> {
  const messages: RemoteMessage[] = []
  for (let left = [...ids]; left.length > 0;) {
    const asked = left.slice(0, BATCH_PARTS_MAX)
    const fetched = await fetchMessages(connection, asked.map(wantMessage), { signal: connection.signal })
    if (fetched.throttled) throw fetched.throttled
    messages.push(...fetched.messages)
    left = [...fetched.left.flatMap(idsOf), ...left.slice(asked.length)]
  }
  return messages
}

function isWanted({ receivedAt }: SearchHit, { after, before }: SearchQuery): boolean {
  return (!after || receivedAt >= after) && (!before || receivedAt < before)
}

function isAfter(hit: SearchHit, position: SearchPosition | null): boolean {
  return position === null || newestFirst(hit, position) > 0
}

/** Orders messages by time and key. A message is the same in any mailbox, so its mailbox does not count. */
function newestFirst(a: SearchPosition, b: SearchPosition): number {
  const byTime = b.receivedAt.getTime() - a.receivedAt.getTime()
  if (byTime !== 0 || a.key === b.key) return byTime
  return String(a.key) > String(b.key) ? -1 : 1
}

function toPosition({ receivedAt, placeId, key }: SearchHit): SearchPosition {
  return { receivedAt, placeId, key }
}
