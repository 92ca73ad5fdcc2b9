import { printWall, WALL_TIME_END } from '../wall-clock.ts'
import { type Bounds, expand, type Expansion, type Member } from './expand.ts'

/** The members of a series in a range. */
export interface SeriesMembers {
  members: Member[]
  /** Whether a bound was reached, so that members may be missing. */
  isTruncated: boolean
  /** Whether there are members after the range, or may be some. */
  goesOn: boolean
}

/**
 * The bounds of a quick expansion. A month or a year may take the time of many days, since all its days are looked at.
 */
const QUICK = { days: 600, months: 60, members: 600, rules: 3, length: 1_000 }

const LAST_WALL = printWall(WALL_TIME_END - 1_000)

/**
 * Expands a series as far as that is quick.
 * @returns null if it is not, and takes `expandSlowly`
 */
export function expandQuickly(expansion: Expansion): SeriesMembers | null {
  const text = expansion.lines.length > QUICK.length ? null : expansion.lines.join('\n')
  if (text === null || text.length > QUICK.length) return null
  const frequencies = [...text.matchAll(/\bFREQ=(\w*)/gi)].map(([, frequency = '']) =>
    frequency.toUpperCase(),
  )
  if (frequencies.length > QUICK.rules) return null
  const hasLong = frequencies.some(frequency => frequency === 'MONTHLY' || frequency === 'YEARLY')
  const periods = hasLong ? QUICK.months : QUICK.days
  const given = expand(expansion, { periods, members: QUICK.members })
  if (given.isTruncated) return null
  const goesOn = findMore(expansion, { periods, members: 1 })
  return goesOn === null ? null : { ...given, goesOn }
}

/** Expands a series up to the bounds that every series has. */
export function expandSlowly(expansion: Expansion): SeriesMembers {
  return { ...expand(expansion), goesOn: findMore(expansion) ?? true }
}

/** Whether a series has members after its range; null if a bound is reached before one is found. */
function findMore({ lines, start, to }: Expansion, bounds?: Bounds): boolean | null {
  const isEndless = lines.some(line => /^RRULE\b/i.test(line) && !/[:;](?:COUNT|UNTIL)=/i.test(line))
  if (isEndless) return true
  const { members, isTruncated } = expand({ lines, start, from: to, to: LAST_WALL }, bounds)
  if (members.length > 0) return true
  return isTruncated ? null : false
}
