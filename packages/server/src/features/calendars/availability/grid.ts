import { DAY_MS } from '../../../kit/wall-clock.ts'
import type { TimeRange } from './busy-times.ts'
import { isAlwaysOpen, localMidnights, type OpenWeek, openRanges } from './working-hours.ts'

/** The grid of the last open hours before a range goes on into it. Hours open at least once within this time. */
const BEFORE_MS = 8 * DAY_MS

/** Slots that are asked for, all in milliseconds. */
export interface SlotQuestion {
  /** Slots lie within it. */
  range: TimeRange
  length: number
  step: number
  /** Buffers: times before and after a slot that must be free as well. */
  before: number
  after: number
  /** Null: all hours are open. */
  week: OpenWeek | null
  zone: string
}

/** A slot of the grid. */
export interface GridSlot extends TimeRange {
  /** Whether it lies within one range of open hours. */
  isOpen: boolean
}

/**
 * The slots of the grid, ascending. Each range of open hours has a grid of its own from its start, and each local day has one if
 * all hours are open. Its steps are elapsed time, so days of 23 and 25 hours lose no slot and have none twice.
 */
export function* gridSlots(question: SlotQuestion): Generator<GridSlot, void, void> {
  const { range, length, step } = question
  const sections = sectionsOf(question)
  for (const [index, { start, openUpTo }] of sections.entries()) {
    const until = Math.min(sections[index + 1]?.start ?? Infinity, range.end - length + 1)
    const skipped = Math.max(0, Math.ceil((range.start - start) / step))
    for (let at = start + skipped * step; at < until; at += step)
      yield { start: at, end: at + length, isOpen: at + length <= openUpTo }
  }
}

/** The start of each grid, ascending, and the time until which hours are open from there. */
function sectionsOf({ range, week, zone }: SlotQuestion): Array<{ start: number; openUpTo: number }> {
  if (week === null || isAlwaysOpen(week))
    return localMidnights(zone, range).map(start => ({ start, openUpTo: Infinity }))
  // Without open hours there is a grid all the same, so that it can be explained.
  if (week.every(ranges => ranges.length === 0))
    return localMidnights(zone, range).map(start => ({ start, openUpTo: -Infinity }))
  return openRanges(week, zone, { start: range.start - BEFORE_MS, end: range.end }).map(({ start, end }) => ({
    start,
    openUpTo: end,
  }))
}
