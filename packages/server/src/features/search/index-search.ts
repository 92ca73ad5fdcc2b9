import type { NewestFirst } from '../../database/page.ts'
import { parseQuery, type SearchQuery } from '../../kit/search-text/query.ts'
import type { RequestContext } from '../context.ts'
import { refuse } from '../refuse.ts'
import { type SearchInput, sealSearchPosition } from './search-cursor.ts'
import type { Found } from './search-page.ts'
import { type Band, isLookedAt, searchBand } from './store.ts'

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

const START: Band = { above: null, end: null, behind: null }
/** The end of the last band, once it was read. */
const OLDEST: NewestFirst = { time: '-infinity', id: '00000000-0000-0000-0000-000000000000' }

/** Searches the index: best matches first, within bands of time. */
export async function searchIndex(
  context: Pick<RequestContext, 'db' | 'tenantId' | 'services'>,
  input: SearchInput,
  page: { place: string[] | null; limit: number; bandMessages?: number },
): Promise<Found> {
  const query = parseQuery(input.q)
  const start = page.place === null ? START : readPlace(page.place)
  if (query === null) return { items: [], nextCursor: null }
  const size = page.bandMessages ?? bandSize(query)
  const readBand = (band: Band, looks: number) => {
    const search = { query, filters: input.filters, band, size, looks, limit: page.limit + 1 }
    return searchBand(context.db, input.accountId, search)
  }
  const looks = isLookedAt(query, input.filters) ? 2 * size : LOOKS.min
  const turn = context.services.searches.take(() => fillPage(readBand, start, { looks, limit: page.limit }))
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
  readBand: (band: Band, looks: number) => ReturnType<typeof searchBand>,
  start: Band,
  page: { looks: number; limit: number },
): Promise<{ results: string[]; next: Band | null }> {
  const until = performance.now() + PAGE_MS
  const results: string[] = []
  let last: Band | null = null
  let band = start
  let { looks } = page
  for (;;) {
    const begunAt = performance.now()
    const read = await readBand(band, looks).catch(orTimeout)
    if (read === null) {
      // A band whose end is known is read whole, so that the next statement would be the same.
      if (looks <= LOOKS.min || band.end !== null) refuseTimeout()
      looks = LOOKS.min
      continue
    }
    const end = read.end ?? OLDEST
    for (const result of read.ranked) {
      if (results.length === page.limit) return { results, next: last }
      results.push(result.json)
      last = { ...band, end, behind: result }
    }
    if (end.time === OLDEST.time) return { results, next: null }
    band = { above: end, end: null, behind: null }
    if (performance.now() > until) return { results, next: band }
    looks = nextLooks(looks, performance.now() - begunAt)
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

function writePlace({ above, end, behind }: Band): string[] {
  const pair = (position: NewestFirst | null) => [position?.time ?? '', position?.id ?? '']
  return [...pair(above), ...pair(end), behind?.rank ?? '', ...pair(behind)]
}

/** What `writePlace` wrote: nobody else can have sealed it. */
function readPlace(place: readonly string[]): Band {
  const [aboveTime = '', aboveId = '', endTime = '', endId = '', rank = '', time = '', id = ''] = place
  const pair = (at: string, of: string) => (at === '' ? null : { time: at, id: of })
  return {
    above: pair(aboveTime, aboveId),
    end: pair(endTime, endId),
    behind: rank === '' ? null : { rank, time, id },
  }
}
