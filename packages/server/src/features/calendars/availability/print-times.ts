import { DAY_MS } from '../../../kit/wall-clock.ts'
import type { TimeRange } from './busy-times.ts'

const MINUTE_MS = 60_000

export type PrintRange = (range: TimeRange) => { start: string; end: string }

/**
 * Prints ranges as the interface writes times. An answer may have tens of thousands, most of them on whole minutes of few
 * days, for which `toISOString` takes several times as long.
 */
export function openRangePrinter(): PrintRange {
  const days = new Map<number, string>()
  const minutes = new Map<number, string>()
  const dayOf = (day: number) => kept(days, day, () => new Date(day * DAY_MS).toISOString().slice(0, 11))
  const minuteOf = (ofDay: number) => kept(minutes, ofDay, () => new Date(ofDay).toISOString().slice(11))
  const print = (time: number) => {
    if (time % MINUTE_MS !== 0) return new Date(time).toISOString()
    const day = Math.floor(time / DAY_MS)
    return dayOf(day) + minuteOf(time - day * DAY_MS)
  }
  return ({ start, end }) => ({ start: print(start), end: print(end) })
}

function kept(known: Map<number, string>, key: number, make: () => string): string {
  const found = known.get(key)
  if (found !== undefined) return found
  const made = make()
  known.set(key, made)
  return made
}
