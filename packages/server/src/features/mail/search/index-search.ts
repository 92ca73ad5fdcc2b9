import type { NewestFirst } from '../../../database/page.ts'
import { parseQuery, type SearchQuery } from '../../../kit/search-text/query.ts'
import type { FairSemaphore } from '../../../kit/fair-semaphore.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { fillPage, type IndexPosition } from './fill-page.ts'
import { type SearchInput, sealSearchPosition } from './search-cursor.ts'
import type { Found } from './search-page.ts'
import { type Band, searchBand } from './store.ts'

/**
 * Number of the newest matches that are ranked together, then of the next ones: a common word costs no more in a larger
 * account.
 */
const BAND_MESSAGES = 5000
/** A query of many words ranks fewer messages at once, since each costs more. */
const WORDS_PER_BAND = 40_000
const RETRY_SECONDS = 5
/** PostgreSQL's query_canceled: here, the statement ran out of time. */
const QUERY_CANCELED = '57014'

const NEWEST: Band = { above: null, end: null, behind: null }

/** Searches the index: best matches first, within bands of time. */
export async function searchIndex(
  context: Pick<RequestContext, 'db' | 'tenantId' | 'cursors'>,
  searches: FairSemaphore,
  input: SearchInput,
  page: { place: string[] | null; limit: number; bandMessages?: number },
): Promise<Found> {
  const query = parseQuery(input.q)
  if (query === null) return { items: [], nextCursor: null }
  // The index cannot check some queries at all.
  const first = { band: NEWEST, isWalk: query.loose === null }
  const start = page.place === null ? first : readPosition(page.place)
  const size = page.bandMessages ?? bandSize(query)
  const walked = { ...query, loose: null, isLoose: false }
  const readBand = ({ band, isWalk }: IndexPosition, looks: number) => {
    const search = { filters: input.filters, band, size, looks, limit: page.limit + 1 }
    const reading = searchBand(context.db, input.accountId, { query: isWalk ? walked : query, ...search })
    return reading.catch(orTimeout)
  }
  const running = searches.take(context.tenantId, () =>
    fillPage(readBand, start, { looks: 2 * size, limit: page.limit, canList: query.loose !== null }),
  )
  const filled = await (running ?? refuse('overloaded', undefined, { retryAfterSeconds: RETRY_SECONDS }))
  const { results, next } = filled ?? refuseTimeout()
  const place = next && writePosition(next)
  return {
    items: results,
    nextCursor: place && sealSearchPosition(context, input, { source: 'index', place }),
  }
}

function bandSize({ words }: SearchQuery): number {
  return Math.min(BAND_MESSAGES, Math.ceil(WORDS_PER_BAND / words))
}

/** Returns null for a statement that ran out of time; rethrows anything else. */
function orTimeout(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === QUERY_CANCELED) return null
  throw error
}

function refuseTimeout(): never {
  refuse('overloaded', undefined, {
    message: 'The search took too long. Ask for rarer words, or for a shorter time with after and before.',
    retryAfterSeconds: RETRY_SECONDS,
  })
}

function writePosition({ band: { above, end, behind }, isWalk }: IndexPosition): string[] {
  const pair = (position: NewestFirst | null) => [position?.time ?? '', position?.id ?? '']
  return [...pair(above), ...pair(end), behind?.rank ?? '', ...pair(behind), isWalk ? 'walk' : '']
}

/** Written by `writePosition`; it is sealed, so it can have no other source. */
function readPosition(place: readonly string[]): IndexPosition {
  const [aboveTime = '', aboveId = '', endTime = '', endId = '', rank = '', time = '', id = '', walk = ''] =
    place
  const pair = (at: string, of: string) => (at === '' ? null : { time: at, id: of })
  const band = {
    above: pair(aboveTime, aboveId),
    end: pair(endTime, endId),
    behind: rank === '' ? null : { rank, time, id },
  }
  return { band, isWalk: walk !== '' }
}
