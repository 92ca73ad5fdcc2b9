const FIRST_MS = 1_000
const LONGEST_MS = 5 * 60_000

/**
 * How long to wait after the nth failure in a row (1 is the first): exponential, at most five minutes, and drawn from
 * the upper half of that, so that accounts that failed together do not come back together.
 */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 20))
  return ceiling / 2 + (random() * ceiling) / 2
}
