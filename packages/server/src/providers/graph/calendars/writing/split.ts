import { isFrom, splitSeries, truncateSeries } from '../../../../kit/recurrence/split-series.ts'
import type { RemoteItem } from '../../../calendars.ts'
import type { Creation, EventChange, MemberPlace, WrittenEvents } from '../../../changing-calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import { timesOfMember } from '../../../new-times.ts'
import { changeSeries } from '../../../series-change.ts'
import { exceptionKeys, finishMembers, requireSeries, rewriteSeries, stateOf } from './series.ts'
import { copyOf, requireCopied } from './copies.ts'
import { createOnce, findCreated } from './create.ts'
import { toPatch } from './fields.ts'
import { planMembers } from './members.ts'
import { requirePattern } from './patterns.ts'
import { appliedAgain, type EventThere, requireThere, requireTold, type Writing, written } from './there.ts'
import { requireZoneName, toTimes } from './times.ts'

/** Makes a series of a member and those after it: first the new series, and then the end of the one before it. */
export async function splitEvent(
  work: Writing,
  key: string,
  { member, ...creation }: MemberPlace & Creation,
  change: EventChange,
): Promise<WrittenEvents> {
  await finishMembers(work, key)
  const { calendarKey } = work.place
  const there = await requireThere(work, key)
  const item = await requireSeries(work, there)
  const earlier = creation.mayExist
    ? await findCreated(work.connection, { calendarKey, creationId: creation.creationId }, {})
    : null
  // The series was truncated already.
  if (earlier !== null && !hasMember(item, member)) return written(work, [key, earlier])
  const made = await makeRest(work, { there, item }, { member, creation, change })
  const gone = await endSeries(work, key, member)
  return written(work, [key, made], gone)
}

function hasMember(item: RemoteItem, member: string): boolean {
  const { times, lines } = stateOf(item)
  return truncateSeries({ start: times.start, lines, taken: [] }, member) !== null
}

/** @returns the key of the new series */
async function makeRest(
  work: Writing,
  series: { there: EventThere; item: RemoteItem },
  { member, creation, change }: { member: string; creation: Creation; change: EventChange },
): Promise<string> {
  const { there, item } = series
  const { mailboxZone } = work.place
  const { recurrence, start, end, ...plain } = change
  requireTold(work.options, [...there.fields.attendees, ...(plain.attendees ?? [])])
  requireCopied(there)
  const state = stateOf(item)
  const split = splitSeries({ start: state.times.start, lines: state.lines, taken: state.taken }, member)
  if (!split) throw new ProviderFailure('unsupported', 'The series cannot be split there.')
  // Both halves are checked before anything is written.
  requirePattern(split.before.lines, state.times.start, requireZoneName(state.times.start, mailboxZone))
  const times = timesOfMember(state.times, member)
  const rest = {
    times,
    lines: split.after.lines,
    taken: split.after.taken,
    exceptions: state.exceptions.filter(one => isFrom(one, member)),
  }
  const changes = { ...(start && { start }), ...(end && { end }), ...(recurrence && { recurrence }) }
  const changed = changeSeries(rest, changes)
  if (!changed)
    throw new ProviderFailure('unsupported', 'The rule of the series does not give its new start.')
  const isSeries = recurrence !== null
  const plan = isSeries ? await planMembers(work, series, changed) : { taken: [], exceptions: [] }
  const json = {
    ...copyOf(there),
    ...toPatch(plain, there, work.options.own),
    ...toTimes(changed.times, mailboxZone),
    ...(isSeries && {
      recurrence: requirePattern(
        changed.lines,
        changed.times.start,
        requireZoneName(changed.times.start, mailboxZone),
      ),
    }),
  }
  return createOnce(work, json, plan, creation)
}

/**
 * Ends a series before one of its members.
 * @returns the keys of the exceptions that have ended
 */
export async function endSeries(work: Writing, key: string, member: string): Promise<string[]> {
  return appliedAgain(async () => {
    const there = await requireThere(work, key)
    const item = await requireSeries(work, there)
    if (there.event.isOrganizer !== false) requireTold(work.options, there.fields.attendees)
    const { times, lines, taken, exceptions } = stateOf(item)
    const before = truncateSeries({ start: times.start, lines, taken }, member)
    if (!before) throw new ProviderFailure('not_found', 'The series has no such occurrence.')
    const kept = exceptions.filter(one => !isFrom(one, member))
    const changed = {
      times,
      lines: before.lines,
      taken: before.taken,
      exceptions: new Map(kept.map(one => [one, one])),
    }
    await rewriteSeries(work, { there, item, changed, patch: {} })
    const others = item.members?.exceptions.filter(({ member: one }) => isFrom(one, member)) ?? []
    return exceptionKeys({ ...item, members: { exceptions: others, taken: [] } })
  })
}
