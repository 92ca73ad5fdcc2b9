import type {
  CalendarsWriter,
  ChangedPart,
  EventChange,
  ItemPlace,
  MemberPlace,
  TimesOf,
  WriteOptions,
  WrittenEvents,
} from '../../../changing-calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import { newTimes } from '../../../new-times.ts'
import { changeSeries, lacksMember, requireChangeFrom } from '../../../series-change.ts'
import type { CalendarsConnection } from '../calendars-connection.ts'
import { requireMeetings } from './create.ts'
import { toPatch } from './fields.ts'
import { finishMembers, requireMember, writeMembers } from './members.ts'
import { type MembersPlan, NO_MEMBERS, planProperty } from './planned-members.ts'
import {
  exceptionKeys,
  isSame,
  requireMembersTold,
  requireSeries,
  rewriteSeries,
  sendPatch,
  stateOf,
} from './series.ts'
import { splitEvent } from './split.ts'
import {
  appliedAgain,
  type EventThere,
  rehearsal,
  requireOrganizer,
  requireThere,
  requireTold,
  type Writing,
  writing,
  written,
} from './there.ts'
import { linesOf, toSeries } from './series-times.ts'
import { toTimes } from './times.ts'

/** `CalendarsWriter.changeEvent`. */
export function changeEvent(
  connection: CalendarsConnection,
  { place, part, change }: { place: ItemPlace; part: ChangedPart; change: EventChange },
  options: WriteOptions,
): Promise<WrittenEvents> {
  const { calendarKey, key } = place
  return writing(connection, calendarKey, options, async work => {
    if (change.onlineMeeting) await requireMeetings(connection, calendarKey)
    return changePart(work, key, part, change)
  })
}

/** `CalendarsWriter.requireChangeable`. */
export function requireChangeable(
  connection: CalendarsConnection,
  { place, part, change, toCalendarKey }: Parameters<CalendarsWriter['requireChangeable']>[0],
  options: WriteOptions,
): Promise<void> {
  return rehearsal(connection, place.calendarKey, options, async work => {
    if (change.onlineMeeting) await requireMeetings(connection, toCalendarKey)
    return changePart(work, place.key, part, change)
  })
}

function changePart(
  work: Writing,
  key: string,
  part: ChangedPart,
  change: EventChange,
): Promise<WrittenEvents> {
  if (part.type === 'member') return changeMember(work, key, part, change)
  if (part.type === 'following') return splitEvent(work, key, part, change)
  return changeWhole(work, key, part.timesOf, change)
}

/** Changes a single or a whole series. */
async function changeWhole(
  work: Writing,
  key: string,
  planned: TimesOf | null,
  asked: EventChange,
): Promise<WrittenEvents> {
  await finishMembers(work, key)
  const { plan, gone } = await appliedAgain(async (): Promise<Sent> => {
    const there = await requireThere(work, key)
    requireMayChange(work, there, asked)
    const { change, timesOf } = requireChangeFrom(there.fields.start, asked, planned)
    const { recurrence, start, end, ...plain } = change
    const patch = toPatch(plain, there, work.options.own)
    if (!there.event.recurrence) return changeSingle(work, there, change, patch)
    const isSeriesChange = recurrence !== undefined || start !== undefined || end !== undefined
    if (isSeriesChange) return changeSeriesThere(work, there, { timesOf, change, patch })
    await sendPatch(work, there, patch)
    return { plan: NO_MEMBERS, gone: [] }
  })
  await writeMembers(work, key, plan)
  return written(work, [key], gone)
}

/** The members of a series that are still to be written after a change of it, and the keys that have ended. */
interface Sent {
  plan: MembersPlan
  gone: string[]
}

async function changeSingle(
  work: Writing,
  there: EventThere,
  change: EventChange,
  patch: Record<string, unknown>,
): Promise<Sent> {
  const { mailboxZone } = work.place
  const times = newTimes(there.fields, change)
  const { recurrence } = change
  const plan = { taken: [...(recurrence?.taken ?? [])], exceptions: [] }
  await sendPatch(work, there, {
    ...patch,
    ...(!recurrence && !isSame(times, there.fields) && toTimes(times, mailboxZone)),
    ...(recurrence && {
      ...toSeries({ times, lines: linesOf(recurrence) }, mailboxZone),
      singleValueExtendedProperties: [planProperty(plan)],
    }),
  })
  return { plan, gone: [] }
}

async function changeSeriesThere(
  work: Writing,
  there: EventThere,
  { timesOf, change, patch }: { timesOf: string | null; change: EventChange; patch: Record<string, unknown> },
): Promise<Sent> {
  const { recurrence, start, end } = change
  const times = { ...(start && { start }), ...(end && { end }) }
  const item = await requireSeries(work, there)
  requireMembersTold(work, item)
  const state = stateOf(item)
  if (recurrence === null) {
    if (lacksMember(state, times, timesOf))
      throw new ProviderFailure('not_found', 'The series no longer has this occurrence.')
    const single = newTimes(state.times, times, timesOf)
    await sendPatch(work, there, { ...patch, ...toTimes(single, work.place.mailboxZone), recurrence: null })
    return { plan: NO_MEMBERS, gone: exceptionKeys(item) }
  }
  const changed = changeSeries(state, { ...times, ...(recurrence && { recurrence }) }, timesOf)
  if (!changed)
    throw new ProviderFailure('unsupported', 'The rule of the series does not give its new start.')
  const isSameSeries = isSame(changed.times, state.times) && changed.lines.join() === state.lines.join()
  if (!isSameSeries || recurrence?.taken.length)
    return { plan: await rewriteSeries(work, { there, item, changed, patch }), gone: [] }
  await sendPatch(work, there, patch)
  return { plan: NO_MEMBERS, gone: [] }
}

async function changeMember(
  work: Writing,
  seriesKey: string,
  place: MemberPlace,
  change: EventChange,
): Promise<WrittenEvents> {
  const series = await finishMembers(work, seriesKey)
  await appliedAgain(async () => {
    const there = await requireMember(work, series, place)
    requireMayChange(work, there, change)
    const { recurrence: _, start: _start, end: _end, ...plain } = change
    const times = newTimes(there.fields, change)
    await sendPatch(work, there, {
      ...toPatch(plain, there, work.options.own),
      ...(!isSame(times, there.fields) && toTimes(times, work.place.mailboxZone)),
    })
  })
  return written(work, [seriesKey])
}

/** Fields that concern nobody but the owner of the calendar. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['showAs', 'sensitivity', 'reminderMinutes'])

/**
 * Only what an organizer changes is told to others. In a calendar that somebody shares, an event whose organizer is the
 * account may be the copy of an attendee.
 */
function requireMayChange({ options }: Writing, there: EventThere, change: EventChange): void {
  const { event, fields } = there
  // A change without fields only ends what an earlier one has begun.
  if (Object.keys(change).length === 0) return
  if (event.isOrganizer !== false) requireTold(options, [...fields.attendees, ...(change.attendees ?? [])])
  else if (!Object.keys(change).every(name => OWN_FIELDS.has(name))) requireOrganizer(there)
}
