import { WEEKDAYS, type WorkingHours } from '@waxwing/contract/calendars/working-hours.ts'
import { Temporal } from 'temporal-polyfill'
import { describe, expect, test } from 'vitest'
import fc from '../../../../test/property.ts'
import { doAtOnce } from '../../../kit/sliced-work.ts'
import { requireTransitions } from '../../../kit/zones/zones.ts'
import type { BusyTime } from './busy-times.ts'
import { findSlots, type FoundSlots, type FreeQuestion } from './find-slots.ts'
import type { Party } from './watch-party.ts'
import { readWorkingHours } from './working-hours.ts'

const MINUTE = 60_000
const DAY = 1_440
/** Days before the range that the oracle looks at, since open hours, or a local day, may have begun there. */
const DAYS_BEFORE = { hours: 16, midnights: 3 }
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'America/Havana',
  'America/Santiago',
  'Africa/Casablanca',
  'Africa/Cairo',
  'Asia/Beirut',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Pacific/Apia',
]

/** Days on which clocks change, and one on which they do not, as minutes since 1970. */
function changingDays(zone: string): number[] {
  const from = Date.UTC(2026, 0)
  const changes = requireTransitions(zone).at.filter(at => at >= from && at < Date.UTC(2028, 0))
  return [Date.UTC(2026, 5, 3), ...changes].map(at => Math.floor(at / MINUTE))
}

/** The minutes around a range, each true or false. */
class Minutes {
  readonly from: number
  readonly #bits: Uint8Array
  constructor(from: number, to: number) {
    this.from = from
    this.#bits = new Uint8Array(to - from)
  }
  mark(start: number, end: number): void {
    this.#bits.fill(1, Math.max(0, start - this.from), Math.max(0, end - this.from))
  }
  at(minute: number): boolean {
    return this.#bits[minute - this.from] === 1
  }
  some(start: number, end: number): boolean {
    return this.#bits.subarray(start - this.from, end - this.from).includes(1)
  }
  every(start: number, end: number): boolean {
    return !this.#bits.subarray(start - this.from, end - this.from).includes(0)
  }
}

interface Scene {
  zone: string
  hours: WorkingHours | null
  question: FreeQuestion
}

/** All that is decided about a slot, found minute by minute. */
interface Decided {
  start: number
  reasons: Map<string, string>
  accountIds: string[]
  isOffered: boolean
}

/** Decides about every slot minute by minute, with local times by Temporal. */
function decide({ zone, hours, question }: Scene): Decided[] {
  const { range, length, step, before, after, mode, requireAll } = question
  const minutes = (ms: number) => ms / MINUTE
  const [start, end] = [minutes(range.start), minutes(range.end)]
  const isAlways = hours === null || hours === fullWeek
  // Without any open hours, each day has a grid of closed slots.
  const isDaily = isAlways || Object.values(hours).every(ranges => ranges.length === 0)
  const [from, to] = [start - (isDaily ? DAYS_BEFORE.midnights : DAYS_BEFORE.hours) * DAY, end + 3 * DAY]
  const open = openMinutes(zone, hours, { from, to })
  const busy = new Map<Party, Minutes>()
  for (const party of [...question.accounts, ...question.attendees]) {
    const marked = new Minutes(from, to)
    for (const time of party.busy ?? []) marked.mark(minutes(time.start), minutes(time.end))
    busy.set(party, marked)
  }
  const stateOf = (party: Party, at: number) => {
    if (party.busy === null) {
      const isInTheWay = requireAll || (party.accountId !== null && !isAnyKnown)
      return isInTheWay ? 'unresolved' : null
    }
    if (busy.get(party)!.some(at, at + minutes(length))) return 'busy'
    return busy.get(party)!.some(at - minutes(before), at + minutes(length + after)) ? 'buffer' : null
  }
  const known = question.accounts.filter(({ busy: times }) => times !== null)
  const isAnyKnown = known.length > 0
  const isUnknownInTheWay = !isAnyKnown || (requireAll && known.length < question.accounts.length)
  const decided: Decided[] = []
  let section: number | null = null
  let day = ''
  for (let at = from + 1; at < end; at++) {
    const today = isDaily ? dayOf(at, zone) : ''
    if (isDaily ? today !== day : open.at(at) && !open.at(at - 1)) section = at
    day = today
    if (section === null || at < start || (at - section) % minutes(step) !== 0) continue
    if (at + minutes(length) > end) continue
    const reasons = new Map<string, string>()
    const isOpen = isAlways || open.every(at, at + minutes(length))
    for (const party of [...question.accounts, ...question.attendees]) {
      const state = stateOf(party, at)
      if (state !== null) reasons.set((party.accountId ?? party.address)!, state)
    }
    const free = known.flatMap(({ accountId }) => (reasons.has(accountId!) ? [] : accountId!))
    const isEnough = mode === 'all' ? free.length === known.length : free.length > 0
    const isHosted = isEnough && !isUnknownInTheWay
    const isGuested = question.attendees.every(({ address }) => !reasons.has(address!))
    // With one account free, the others are not the reason.
    if (isHosted) for (const { accountId } of question.accounts) reasons.delete(accountId!)
    decided.push({
      start: at * MINUTE,
      reasons: isOpen ? reasons : new Map([['', 'outside_hours']]),
      accountIds: free,
      isOffered: isOpen && isHosted && isGuested,
    })
  }
  return decided
}

function openMinutes(zone: string, hours: WorkingHours | null, { from, to }: { from: number; to: number }) {
  const open = new Minutes(from, to)
  const first = Temporal.Instant.fromEpochMilliseconds(from * MINUTE)
    .toZonedDateTimeISO(zone)
    .toPlainDate()
  for (let offset = -2; offset < (to - from) / DAY + 2; offset++) {
    const date = first.add({ days: offset })
    const ranges = hours?.[WEEKDAYS[date.dayOfWeek - 1]!] ?? []
    const instant = (time: string) => {
      const isEnd = time === '24:00'
      const local = (isEnd ? date.add({ days: 1 }) : date).toPlainDateTime(isEnd ? '00:00' : time)
      return Math.round(local.toZonedDateTime(zone).epochMilliseconds / MINUTE)
    }
    for (const each of ranges) {
      const [start, end] = [instant(each.start), instant(each.end)]
      if (start < to && end > from) open.mark(start, Math.min(end, to))
    }
  }
  return open
}

const offsets = new Map<string, Intl.DateTimeFormat>()
function dayOf(minute: number, zone: string): string {
  let format = offsets.get(zone)
  if (!format)
    offsets.set(zone, (format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })))
  return format.format(minute * MINUTE)
}

const find = (question: FreeQuestion): FoundSlots => doAtOnce(findSlots(question))

/** Compares the offered slots and the explanation with what was decided minute by minute. */
function compare(scene: Scene): void {
  const decided = decide(scene)
  const { slots, refused, isTruncated, isExplanationTruncated } = find({ ...scene.question, explain: true })
  expect({ isTruncated, isExplanationTruncated }).toEqual({
    isTruncated: false,
    isExplanationTruncated: false,
  })
  const { length } = scene.question
  expect(slots).toEqual(
    decided
      .filter(({ isOffered }) => isOffered)
      .map(({ start, accountIds }) => ({ start, end: start + length, accountIds })),
  )
  expect(
    refused.map(({ start, end, reasons }) => ({
      start,
      end,
      reasons: Object.fromEntries(
        reasons.map(({ accountId, address, code }) => [accountId ?? address ?? '', code]),
      ),
    })),
  ).toEqual(
    decided
      .filter(({ isOffered }) => !isOffered)
      .map(({ start, reasons }) => ({ start, end: start + length, reasons: Object.fromEntries(reasons) })),
  )
  for (const slot of refused)
    for (const { code, time } of slot.reasons) {
      expect(time !== null).toBe(code === 'busy' || code === 'buffer')
      if (code === 'busy') expect(time!.start < slot.end && time!.end > slot.start).toBe(true)
    }
  expect(find({ ...scene.question, explain: false }).slots).toEqual(slots)
}

const slotMinutes = fc.constantFrom(5, 10, 15, 25, 30, 45, 60, 90, 480, 1440)
const bufferMinutes = fc.constantFrom(0, 0, 5, 15, 60, 1440)

/** Ranges of a day, ascending, some of which touch. */
const rangesOfDay = fc
  .uniqueArray(fc.constantFrom(0, 60, 90, 120, 150, 180, 540, 720, 765, 1020, 1380, 1440), { maxLength: 6 })
  .map(times => {
    const sorted = times.toSorted((one, other) => one - other)
    const ranges = []
    for (let at = 0; at + 1 < sorted.length; at += sorted.length % 2 === 0 ? 2 : 1)
      ranges.push({ start: clock(sorted[at]!), end: clock(sorted[at + 1]!) })
    return ranges
  })

const clock = (minutes: number) =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`

const week: fc.Arbitrary<WorkingHours> = fc.record(
  Object.fromEntries(WEEKDAYS.map(day => [day, rangesOfDay])),
  { requiredKeys: [] },
)
const fullWeek: WorkingHours = Object.fromEntries(
  WEEKDAYS.map(day => [day, [{ start: '00:00', end: '24:00' }]]),
)

/** Busy times around a range of so many minutes. */
const busyTimes = (minutes: number) =>
  fc.array(
    fc.record({
      start: fc.integer({ min: -DAY, max: minutes + DAY }),
      length: fc.constantFrom(0, 5, 15, 20, 30, 60, 300, 1440, 3000),
    }),
    { maxLength: 6 },
  )

const scenes: fc.Arbitrary<Scene> = fc
  .record({
    zone: fc.constantFrom(...ZONES),
    nth: fc.nat(),
    lead: fc.integer({ min: -2 * DAY, max: 600 }),
    minutes: fc.integer({ min: 60, max: 4 * DAY }),
    hours: fc.oneof(fc.constant(null), fc.constant(fullWeek), fc.constant({}), week, week),
    length: slotMinutes,
    step: slotMinutes,
    before: bufferMinutes,
    after: bufferMinutes,
    mode: fc.constantFrom('all' as const, 'any' as const),
    requireAll: fc.boolean(),
    accounts: fc.array(fc.option(busyTimes(4 * DAY), { freq: 6 }), { minLength: 1, maxLength: 3 }),
    attendees: fc.array(fc.option(busyTimes(4 * DAY), { freq: 4 }), { maxLength: 2 }),
  })
  .map(({ zone, nth, lead, minutes, hours, length, step, before, after, ...given }) => {
    const days = changingDays(zone)
    const start = (days[nth % days.length]! + lead) * MINUTE
    const timesOf = (
      times: Array<{ start: number; length: number }> | null,
      name: string,
    ): BusyTime[] | null =>
      times &&
      times
        .map(({ start: at, length: long }, index) => ({
          start: start + at * MINUTE,
          end: start + (at + long) * MINUTE,
          eventId: `${name}-${index}`,
        }))
        .toSorted((one, other) => one.start - other.start)
    const question: FreeQuestion = {
      range: { start, end: start + minutes * MINUTE },
      length: length * MINUTE,
      step: Math.max(step, 15) * MINUTE,
      before: before * MINUTE,
      after: after * MINUTE,
      week: hours && readWorkingHours(hours),
      zone,
      mode: given.mode,
      requireAll: given.requireAll,
      explain: true,
      accounts: given.accounts.map((times, index) => ({
        accountId: `account-${index}`,
        address: null,
        busy: timesOf(times, `account-${index}`),
      })),
      attendees: given.attendees.map((times, index) => ({
        accountId: null,
        address: `guest-${index}`,
        busy: timesOf(times, `guest-${index}`),
      })),
    }
    return { zone, hours, question }
  })

describe('findSlots', () => {
  test('offers and refuses slots as an oracle does that walks minute by minute', () => {
    fc.assert(fc.property(scenes, compare), { numRuns: 150 })
  })

  test.each(ZONES)('counts each slot once on every day on which clocks change in %s', zone => {
    for (const day of changingDays(zone))
      for (const hours of [
        null,
        fullWeek,
        { sun: [{ start: '01:30', end: '02:30' }], fri: [{ start: '00:00', end: '03:15' }] },
      ]) {
        const start = (day - DAY) * MINUTE
        const accounts: Party[] = [{ accountId: 'one', address: null, busy: [] }]
        compare({
          zone,
          hours,
          question: {
            range: { start, end: start + 3 * DAY * MINUTE },
            length: 30 * MINUTE,
            step: 45 * MINUTE,
            before: 0,
            after: 0,
            week: hours && readWorkingHours(hours),
            zone,
            mode: 'all',
            requireAll: false,
            explain: true,
            accounts,
            attendees: [],
          },
        })
      }
  })

  const everyFive = (busy: BusyTime[]): FreeQuestion => ({
    range: { start: 0, end: 20 * DAY * MINUTE },
    length: 5 * MINUTE,
    step: 5 * MINUTE,
    before: 0,
    after: 0,
    week: null,
    zone: 'UTC',
    mode: 'all',
    requireAll: false,
    explain: true,
    accounts: [{ accountId: 'one', address: null, busy }],
    attendees: [],
  })

  test('ends after 2,000 slots, and says so', () => {
    const { slots, isTruncated, isExplanationTruncated } = find(everyFive([]))
    expect([slots.length, isTruncated, isExplanationTruncated]).toEqual([2_000, true, true])
  })

  test('is not truncated by exactly 2,000 slots', () => {
    const question = everyFive([])
    const end = 2_000 * 5 * MINUTE
    const { slots, isTruncated } = find({ ...question, range: { start: 0, end } })
    expect([slots.length, isTruncated]).toEqual([2_000, false])
  })

  test('explains at most 1,000 slots, and offers what comes after them', () => {
    const busy = [{ start: 0, end: 10 * DAY * MINUTE, eventId: 'long' }]
    const { slots, refused, isExplanationTruncated } = find(everyFive(busy))
    expect([refused.length, isExplanationTruncated]).toEqual([1_000, true])
    expect(slots[0]!.start).toBe(10 * DAY * MINUTE)
  })

  test('explains busy slots after many closed ones', () => {
    const busy = [{ start: 18 * DAY * MINUTE, end: 19 * DAY * MINUTE, eventId: 'long' }]
    const open = readWorkingHours(
      Object.fromEntries(WEEKDAYS.map(day => [day, [{ start: '09:00', end: '09:30' }]])),
    )
    const { refused, isExplanationTruncated } = find({ ...everyFive(busy), week: open })
    const counts = Map.groupBy(refused, ({ reasons }) => reasons[0]!.code)
    expect([counts.get('outside_hours')?.length, counts.get('busy')?.length]).toEqual([500, 6])
    expect(isExplanationTruncated).toBe(true)
  })
})
