import { expect } from 'vitest'
import { type Asked, isOfOneWindow, windowAt } from './load-window.ts'

/**
 * Expects that each window handed out each of its places at most once, and all of them if it refused anybody. A request
 * belongs to the window in which it was sent, if it was answered there as well; otherwise to one of two. A request that
 * was not counted may have taken a place.
 */
export function expectExactWindows(
  asked: readonly Asked[],
  { limit, milliseconds }: { limit: number; milliseconds: number },
): void {
  const windowOf = (time: number) => windowAt(time, milliseconds)
  const isSure = (one: Asked) => isOfOneWindow(one, milliseconds)
  const between = asked.filter(one => !isSure(one))
  let refusing = 0
  for (const [window, sure] of Map.groupBy(asked.filter(isSure), ({ from }) => windowOf(from))) {
    const places = sure.flatMap(({ count }) => (count?.isAccepted ? [count.remaining] : []))
    expect(places.length, 'places handed out twice').toBe(new Set(places).size)
    expect(Math.max(-1, ...places)).toBeLessThan(limit)
    if (!sure.some(({ count }) => count?.isAccepted === false)) continue
    refusing += 1
    const near = between.filter(({ from, to }) => windowOf(from) <= window && window <= windowOf(to))
    const uncounted = [...sure, ...near].filter(({ count }) => count === null).length
    const handedOut = new Set([
      ...places,
      ...near.map(({ count }) => (count?.isAccepted ? count.remaining : -1)),
    ])
    const missing = Array.from({ length: limit }, (_, place) => place).filter(place => !handedOut.has(place))
    expect(missing.length, `places of a window that refused: ${missing.join()}`).toBeLessThanOrEqual(
      uncounted,
    )
  }
  expect(refusing, 'windows that refused').toBeGreaterThan(0)
}
