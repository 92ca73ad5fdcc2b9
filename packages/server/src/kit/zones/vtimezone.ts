import { parameterOf } from '../content-lines/content-line.ts'
import type { Component, ContentFile } from '../content-lines/content-file.ts'
import { readRule } from '../recurrence/rule.ts'
import { type Budget, MEMBERS_MAX, walkRule } from '../recurrence/walk-rule.ts'
import { DAY_MS, readWall, WALL_TIME_END, WALL_TIME_MIN } from '../wall-clock.ts'
import { TABLE_END, TABLE_START } from './iana-zone.ts'
import { OWN_TRANSITIONS_MAX } from './own-zone.ts'
import type { Transitions } from './transitions.ts'

/* Definitions of time zones in calendar files (RFC 5545 section 3.6.5). */

/** A VTIMEZONE and the file that holds it. */
export interface ZoneDefinition {
  file: Pick<ContentFile, 'lines'>
  component: Component
  /** The work that all definitions of the file may take together. */
  budget: Budget
}

/** Definitions with more observances, rules or dates than these are not read. */
const OBSERVANCES_MAX = 400
const ONSETS_MAX = 2000
const PERIODS_MAX = 5000
/** `+HHMM` or `+HHMMSS`. Some writers leave the sign out. */
const OFFSET = /^([+-]?)(\d{2})(\d{2})(\d{2})?$/

/** The work for the definitions of one file. */
export const openBudget = (): Budget => ({ members: MEMBERS_MAX, periods: PERIODS_MAX })

interface Onset {
  instant: number
  offset: number
  offsetBefore: number
}

/**
 * The transitions that a definition gives from 1970 up to 2100. If they are too many for a reference, the first ones from
 * ten years before the window on. Null if it gives none, or exceeds a bound.
 */
export function readDefinition(
  { file, component, budget }: ZoneDefinition,
  windowStart: number,
): Transitions | null {
  const observances = component.components.filter(({ name }) => name === 'STANDARD' || name === 'DAYLIGHT')
  if (observances.length > OBSERVANCES_MAX) return null
  const onsets: Onset[] = []
  for (const observance of observances) {
    const found = readOnsets(contentsOf(file, observance), budget)
    if (!found || onsets.length + found.length > ONSETS_MAX) return null
    onsets.push(...found)
  }
  return onsets.length === 0 ? null : toTransitions(onsets, windowStart)
}

/** The name of the zone that a definition gives as its place, a common extension. */
export function locationOf({ file, component }: ZoneDefinition): string | null {
  return (
    contentsOf(file, component)
      .find(({ name }) => name === 'X-LIC-LOCATION')
      ?.value.trim() ?? null
  )
}

const contentsOf = (file: Pick<ContentFile, 'lines'>, { lines }: Component) =>
  lines.flatMap(line => file.lines[line]?.content ?? [])

type Contents = ReturnType<typeof contentsOf>

/** The onsets of an observance; none if it lacks a property that it needs. Null if a bound is exceeded. */
function readOnsets(contents: Contents, budget: Budget): Onset[] | null {
  const valueOf = (name: string) => contents.find(content => content.name === name)?.value.trim() ?? ''
  const start = readWall(valueOf('DTSTART').toUpperCase())
  const offset = readOffset(valueOf('TZOFFSETTO'))
  if (start === null || offset === null) return []
  const offsetBefore = readOffset(valueOf('TZOFFSETFROM')) ?? offset
  // An onset is a wall clock of the offset before it.
  const times = new Set([start])
  for (const content of contents) {
    if (content.name === 'RRULE') {
      const given = readRuleOnsets(content.value, start, offsetBefore, budget)
      if (!given) return null
      for (const time of given) times.add(time)
    }
    if (content.name === 'RDATE' && parameterOf(content, 'VALUE')?.toUpperCase() !== 'PERIOD') {
      if (content.value.length > ONSETS_MAX * 20) return null
      for (const value of content.value.toUpperCase().split(',')) {
        const time = readLocalTime(value.trim(), offsetBefore)
        if (time !== null) times.add(time)
      }
    }
  }
  return Array.from(times, time => ({ instant: time - offsetBefore, offset, offsetBefore }))
}

/** The wall time of a text whose `Z` counts as UTC. */
function readLocalTime(text: string, offset: number): number | null {
  if (!text.endsWith('Z')) return readWall(text)
  const time = readWall(text.slice(0, -1))
  return time === null ? null : time + offset
}

/** The onsets of a rule since 1968, so that one before 1970 is among them. Null if a bound is exceeded. */
function readRuleOnsets(value: string, start: number, offsetBefore: number, budget: Budget): number[] | null {
  const rule = readRule(value)
  if (!rule) return []
  // No zone changes twice a day, and long lists of times are costly.
  if ([rule.hours, rule.minutes, rule.seconds].some(list => list && list.length > 1)) return null
  const until = rule.until === null ? WALL_TIME_END : readLocalTime(rule.until, offsetBefore)
  if (until === null) return []
  const window = {
    from: Math.max(WALL_TIME_MIN, TABLE_START - 731 * DAY_MS),
    to: Math.min(TABLE_END, until + 1),
  }
  const { members, isTruncated } = walkRule(rule, { start, ...window, isStartCounted: true }, budget)
  return isTruncated || members.length > ONSETS_MAX ? null : members
}

function readOffset(text: string): number | null {
  const [, sign, hours, minutes, seconds = 0] = OFFSET.exec(text) ?? []
  if (hours === undefined) return null
  const offset = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000
  if (offset >= DAY_MS) return null
  return sign === '-' ? -offset : offset
}

function toTransitions(onsets: readonly Onset[], windowStart: number): Transitions {
  const sorted = onsets.toSorted((a, b) => a.instant - b.instant)
  const at: number[] = []
  const offsets = [sorted[0]!.offsetBefore]
  for (const { instant, offset } of sorted) {
    if (instant >= TABLE_END) break
    // If two onsets have the same instant, the offset of the last one counts.
    if (instant === at.at(-1)) offsets[offsets.length - 1] = offset
    else if (instant < TABLE_START) offsets[0] = offset
    else if (offset !== offsets.at(-1)) {
      at.push(instant)
      offsets.push(offset)
    }
  }
  if (at.length <= OWN_TRANSITIONS_MAX) return { at, offsets }
  const kept = Math.max(
    0,
    at.findLastIndex(instant => instant < windowStart - 3653 * DAY_MS),
  )
  return {
    at: at.slice(kept, kept + OWN_TRANSITIONS_MAX),
    offsets: offsets.slice(kept, kept + OWN_TRANSITIONS_MAX + 1),
  }
}
