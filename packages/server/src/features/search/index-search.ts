import type { NewestFirst } from '../../database/page.ts'
import { parseQuery, type SearchQuery } from '../../kit/search-text/query.ts'
import type { RequestContext } from '../context.ts'
import { refuse } from '../refuse.ts'
import { type SearchInput, sealSearchPosition } from './search-cursor.ts'
import type { Found } from './search-page.ts'
import { type Band, searchBand } from './store.ts'

/** So many of the newest matches are ranked together, then the next: a common word costs no more in a larger account. */
const BAND_MESSAGES = 5000
/** Of a query of more words, fewer messages, since each costs more. */
const WORDS_PER_BAND = 40_000
/** Messages of which it is looked, in one statement, whether they match: more where that is quick, fewer where not. */
const LOOKS = { min: 250, max: 80_000 }
const QUICK_MS = 200
const SLOW_MS = 500
/** A page that is not full by then says where to go on. */
const PAGE_MS = 400
const RETRY_SECONDS = 5
/** PostgreSQL's query_canceled: here, the statement's time is up. */
const QUERY_CANCELED = '57014'

/** Where a search goes on. */
interface Place {
  band: Band
  /**
   * Whether every message of the band is looked at, newest first: where most have the words, that is quicker than to
   * have the index list them all.
   */
  isWalk: boolean
}

const NEWEST: Band = { above: null, end: null, behind: null }
/** The end of the last band, once it was read. */
const OLDEST: NewestFirst = { time: '-infinity', id: '00000000-0000-0000-0000-000000000000' }

/** Searches the index: best matches first, within bands of time. */
export async function searchIndex(
  context: Pick<RequestContext, 'db' | 'tenantId' | 'services'>,
  input: SearchInput,
  page: { place: string[] | null; limit: number; bandMessages?: number },
): Promise<Found> {
  const query = parseQuery(input.q)
  if (query === null) return { items: [], nextCursor: null }
  // Of some queries the index knows nothing.
  const first = { band: NEWEST, isWalk: query.loose === null }
  const start = page.place === null ? first : readPlace(page.place)
  const size = page.bandMessages ?? bandSize(query)
  const walked = { ...query, loose: null, isLoose: false }
  const readBand = ({ band, isWalk }: Place, looks: number) => {
    const search = { filters: input.filters, band, size, looks, limit: page.limit + 1 }
    return searchBand(context.db, input.accountId, { query: isWalk ? walked : query, ...search })
  }
  const turn = context.services.searches.take(() =>
    fillPage(readBand, start, { looks: 2 * size, limit: page.limit }),
  )
  const { results, next } = await (turn ??
    refuse('overloaded', undefined, { retryAfterSeconds: RETRY_SECONDS }))
  const place = next && writePlace(next)
  return {
    items: results,
    nextCursor: place && sealSearchPosition(context, input, { source: 'index', place }),
  }
}

function bandSize({ words }: SearchQuery): number {
  return Math.min(BAND_MESSAGES, Math.ceil(WORDS_PER_BAND / words))
}

/** Reads band after band until the page is full. */
async function fillPage(
  readBand: (place: Place, looks: number) => ReturnType<typeof searchBand>,
  start: Place,
  page: { looks: number; limit: number },
): Promise<{ results: string[]; next: Place | null }> {
  const until = performance.now() + PAGE_MS
  const results: string[] = []
  let last: Place | null = null
  let { band, isWalk } = start
  let { looks } = page
  for (;;) {
    const read = await readBand({ band, isWalk }, looks).catch(orTimeout)
    if (read === null) {
      if (band !== start.band) return { results, next: { band, isWalk: true } }
      // Where results were found before, they have to be found again.
      if (band.end !== null || (isWalk && looks <= LOOKS.min)) refuseTimeout()
      if (isWalk) looks = LOOKS.min
      isWalk = true
      continue
    }
    const end = read.end ?? OLDEST
    for (const result of read.ranked) {
      if (results.length === page.limit) return { results, next: last }
      results.push(result.json)
      last = { band: { ...band, end, behind: result }, isWalk }
    }
    if (end.time === OLDEST.time) return { results, next: null }
    band = { above: end, end: null, behind: null }
    isWalk ||= read.tookMs > SLOW_MS
    if (performance.now() > until) return { results, next: { band, isWalk } }
    looks = nextLooks(looks, read.tookMs)
  }
}

function nextLooks(looks: number, tookMs: number): number {
  if (tookMs < QUICK_MS) return Math.min(LOOKS.max, looks * 4)
  return tookMs > SLOW_MS ? Math.max(LOOKS.min, Math.ceil(looks / 2)) : looks
}

/** Null for a statement whose time was up; anything else is thrown on. */
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

function writePlace({ band: { above, end, behind }, isWalk }: Place): string[] {
  const pair = (position: NewestFirst | null) => [position?.time ?? '', position?.id ?? '']
  return [...pair(above), ...pair(end), behind?.rank ?? '', ...pair(behind), isWalk ? 'walk' : '']
}

/** What `writePlace` wrote: nobody else can have sealed it. */
function readPlace(place: readonly string[]): Place {
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
