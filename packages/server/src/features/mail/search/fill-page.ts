import type { NewestFirst } from '../../../database/page.ts'
import type { Band, BandResult } from './store.ts'

/** Limits of how many messages one statement looks at: more if that is quick, fewer if it is slow. */
const LOOKS = { min: 250, max: 80_000 }
const QUICK_MS = 200
const SLOW_MS = 500
/** A page that is not full after this time ends with a cursor. */
const PAGE_MS = 400

/** A position in a search. */
export interface IndexPosition {
  band: Band
  /**
   * Whether every message of the band is looked at, newest first. If most messages have the words, that is quicker than
   * having the index list them all.
   */
  isWalk: boolean
}

/** Reads a band of at most `looks` messages. Null if it took too long. */
export type ReadBand = (position: IndexPosition, looks: number) => Promise<BandResult | null>

export interface FilledPage {
  results: string[]
  /** Null at the end of the account. */
  next: IndexPosition | null
}

/** The end of the last band, once it was read. */
const OLDEST: NewestFirst = { time: '-infinity', id: '00000000-0000-0000-0000-000000000000' }

/**
 * Reads band after band until the page is full. Null if the first of them takes too long, both listed and walked.
 * @param page.looks how many messages the first statement looks at
 * @param page.canList whether the index of words can check the query, so that a band can be listed as well as walked
 */
export async function fillPage(
  readBand: ReadBand,
  start: IndexPosition,
  page: { looks: number; limit: number; canList: boolean },
  now: () => number = () => performance.now(),
): Promise<FilledPage | null> {
  const until = now() + PAGE_MS
  const results: string[] = []
  let last: IndexPosition | null = null
  let { band, isWalk } = start
  let { looks } = page
  let hasSwitched = false
  for (;;) {
    const read = await readBand({ band, isWalk }, looks)
    if (read === null) {
      if (band !== start.band) return { results, next: { band, isWalk: true } }
      if (band.end !== null) {
        // Results of earlier pages must be found again, so it tries the other way: fewer looks would find fewer
        // results.
        if (hasSwitched || !page.canList) return null
        hasSwitched = true
        isWalk = !isWalk
        continue
      }
      if (isWalk && looks <= LOOKS.min) return null
      if (isWalk) looks = LOOKS.min
      isWalk = true
      continue
    }
    const isSlow = read.tookMs > SLOW_MS
    const end = read.end ?? OLDEST
    // A band that took long to list is not listed again for its rest, unless that is the rest of the account.
    const isWalkedOn = isWalk || (isSlow && read.end !== null)
    for (const result of read.ranked) {
      if (results.length === page.limit) return { results, next: last }
      results.push(result.json)
      last = { band: { ...band, end, behind: result }, isWalk: isWalkedOn }
    }
    if (end.time === OLDEST.time) return { results, next: null }
    band = { above: end, end: null, behind: null }
    isWalk ||= isSlow
    if (now() > until) return { results, next: { band, isWalk } }
    looks = nextLooks(looks, read.tookMs)
  }
}

function nextLooks(looks: number, tookMs: number): number {
  if (tookMs < QUICK_MS) return Math.min(LOOKS.max, looks * 4)
  return tookMs > SLOW_MS ? Math.max(LOOKS.min, Math.ceil(looks / 2)) : looks
}
