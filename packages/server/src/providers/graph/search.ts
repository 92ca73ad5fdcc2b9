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
import { segment } from './api.ts'
import { fetchMessages } from './fetch.ts'
import type { GraphConnection } from './graph-connection.ts'
import { type MessageState, statesSchema } from './resources.ts'

const TEXT_LENGTH_MAX = 2_000
const HITS_PER_PAGE = 250
/** Hits that Graph gives of one search (learn.microsoft.com/graph/search-query-parameter), and the calls for them. */
const HITS_MAX = 1_000
const PAGES_MAX = HITS_MAX / HITS_PER_PAGE
const DAY_MS = 86_400_000

export function graphSearch(connection: GraphConnection): SearchProvider {
  return { search: query => search(connection, query) }
}

/** A message that was found, in one of the places. */
interface Found extends SearchPosition {
  key: string
}

/**
 * Graph gives the hits by the time of sending, and takes neither an order nor a filter, so all hits of a search are
 * collected before a page is cut. Where there are more than it gives, the next page searches up to the day of the last
 * hit.
 */
async function* search(
  connection: GraphConnection,
  query: SearchQuery,
): AsyncGenerator<void, SearchPage, void> {
  const { places, position, limit } = query
  if (places.length === 0) return { hits: [], next: null }
  if (query.text.length > TEXT_LENGTH_MAX)
    throw new ProviderFailure('rejected', 'The search text is too long.')
  const found = new Map<string, Found>()
  let link: string | undefined
  let pages = 0
  do {
    const page = await askPage(connection, query, link)
    for (const item of page.value) {
      const hit = toFound(item, places)
      if (hit && isWanted(hit, query) && (position === null || inOrder(hit, position) > 0))
        found.set(hit.key, hit)
    }
    link = page['@odata.nextLink']
    pages += 1
    yield
  } while (link !== undefined && pages < PAGES_MAX)
  const indexed = await findIndexed([...found.values()], query)
  const sorted = [...found.values()]
    .map(hit => ({ ...hit, receivedAt: indexed.get(hit.key) ?? hit.receivedAt }))
    .filter(hit => isWanted(hit, query) && (position === null || inOrder(hit, position) > 0))
    .toSorted(inOrder)
  const shown = sorted.slice(0, limit)
  const last = shown.at(-1)
  const isWhole = link === undefined && sorted.length <= limit
  const hits = await toHits(connection, indexed, shown)
  yield
  return { hits, next: isWhole || !last ? null : toPosition(last) }
}

async function askPage(
  { api, signal }: GraphConnection,
  query: SearchQuery,
  link: string | undefined,
): Promise<{ value: MessageState[]; '@odata.nextLink'?: string | undefined }> {
  const ask = { signal, urgency: 'interactive' as const }
  if (link !== undefined) return api.follow(link, statesSchema, ask)
  const [place] = query.places
  const isOne = query.places.length === 1 && place !== undefined
  try {
    const { value } = await api.ask(
      {
        path: isOne ? `mailFolders/${segment(place.source)}/messages` : 'messages',
        query: {
          $search: `"${termsOf(query).replaceAll(/["\\]/g, String.raw`\$&`)}"`,
          $select: 'id,parentFolderId,receivedDateTime',
          $top: HITS_PER_PAGE,
        },
        schema: statesSchema,
        accepts: [200],
      },
      ask,
    )
    return value
  } catch (error) {
    // A folder that is gone holds nothing.
    if (!isOne || !(error instanceof ProviderFailure) || error.kind !== 'not_found') throw error
    return { value: [] }
  }
}

/**
 * The text with the days between which messages arrived: days are all that a search knows, so those of a day more are left
 * out afterwards.
 */
export function termsOf({
  text,
  after,
  before,
  position,
}: Pick<SearchQuery, 'text' | 'after' | 'before' | 'position'>): string {
  const until = position && (!before || position.receivedAt < before) ? position.receivedAt : before
  const terms = [
    ...(after ? [`received>=${dayOf(after.getTime() - DAY_MS)}`] : []),
    ...(until ? [`received<=${dayOf(until.getTime() + DAY_MS)}`] : []),
  ]
  return terms.length === 0 ? text : [`(${text})`, ...terms].join(' AND ')
}

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10)

function toFound(
  { id, parentFolderId, receivedDateTime }: MessageState,
  places: readonly SearchPlace[],
): Found | null {
  const place = places.find(({ source }) => source === parentFolderId)
  return place && receivedDateTime
    ? { key: id, placeId: place.id, receivedAt: new Date(receivedDateTime) }
    : null
}

/** The times at which the messages arrived that the index holds. */
async function findIndexed(
  hits: readonly Found[],
  { known }: Pick<SearchQuery, 'known'>,
): Promise<ReadonlyMap<unknown, Date>> {
  const indexed = new Map<unknown, Date>()
  for (const [placeId, there] of Map.groupBy(hits, hit => hit.placeId)) {
    const keys = there.map(({ key }) => key)
    for (const [key, receivedAt] of await known(placeId, keys)) indexed.set(key, receivedAt)
  }
  return indexed
}

/** Messages that the index holds need not be fetched. */
async function toHits(
  connection: GraphConnection,
  indexed: ReadonlyMap<unknown, Date>,
  shown: readonly Found[],
): Promise<SearchHit[]> {
  const lacking = shown.filter(({ key }) => !indexed.has(key)).map(({ key }) => key)
  const { messages } = await fetchMessages(connection, lacking, {
    signal: connection.signal,
    urgency: 'interactive',
  })
  const fetched = new Map(messages.map((message): [unknown, RemoteMessage] => [message.key, message]))
  return shown.flatMap((hit): SearchHit[] => {
    if (indexed.has(hit.key)) return [{ ...hit, message: null }]
    const message = fetched.get(hit.key)
    return message ? [{ ...hit, message }] : []
  })
}

function isWanted({ receivedAt }: SearchPosition, { after, before }: SearchQuery): boolean {
  return (!after || receivedAt >= after) && (!before || receivedAt < before)
}

/** Newest first, then by place, then by key, highest first. */
function inOrder(one: SearchPosition, other: SearchPosition): number {
  const byTime = other.receivedAt.getTime() - one.receivedAt.getTime()
  if (byTime !== 0) return byTime
  if (one.placeId !== other.placeId) return one.placeId < other.placeId ? -1 : 1
  if (one.key === other.key) return 0
  return String(one.key) > String(other.key) ? -1 : 1
}

function toPosition({ receivedAt, placeId, key }: SearchPosition): SearchPosition {
  return { receivedAt, placeId, key }
}
