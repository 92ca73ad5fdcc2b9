import { isFrom, type Series, splitSeries, truncateSeries } from '../../../../kit/recurrence/split-series.ts'
import type { RemoteEvent, RemoteItem } from '../../../calendars.ts'
import type { Creation, EventChange, MemberPlace, WrittenEvents } from '../../../changing-calendars.ts'
import { type FailureKind, ProviderFailure } from '../../../failure.ts'
import { timesOfMember } from '../../../new-times.ts'
import { type ChangedSeries, changeSeries } from '../../../series-change.ts'
import { ignoredSchema } from '../../resources.ts'
import { pathOfEvent } from '../pages.ts'
import { withoutMeeting } from './bodies.ts'
import { copyOf, requireCopied } from './copies.ts'
import { createOnce, findCreated } from './create.ts'
import { type PlainFields, toPatch } from './fields.ts'
import { finishMembers, writeMembers } from './members.ts'
import { requirePattern } from './patterns.ts'
import { type MembersPlan, NO_MEMBERS, planMembers, planProperty } from './planned-members.ts'
import { exceptionKeys, requireMembersTold, requireSeries, rewriteSeries, stateOf } from './series.ts'
import { toSeries } from './series-times.ts'
import {
  appliedAgain,
  type EventThere,
  requireOrganizer,
  requireThere,
  requireTold,
  type Writing,
  written,
} from './there.ts'
import { requireZoneName, toTimes } from './times.ts'

/** A series as it is at Graph, with its members. */
interface SeriesThere {
  there: EventThere
  item: RemoteItem
}

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
  requireOrganizer(there)
  const item = await requireSeries(work, there)
  const earlier = creation.mayExist
    ? await findCreated(work.connection, { calendarKey, creationId: creation.creationId }, {})
    : null
  // The series was truncated already.
  if (earlier !== null && !hasMember(item, member)) return written(work, [key, earlier])
  const made = await makeRest(work, { there, item }, { member, creation, change })
  const gone = await endSeries(work, key, member).catch((error: unknown) => undo(work, made, error))
  return written(work, [key, made], gone)
}

const REFUSALS: ReadonlySet<FailureKind> = new Set([
  'not_found',
  'conflict',
  'rejected',
  'forbidden',
  'unsupported',
])

/** Deletes the new series again if Exchange certainly refuses to end the one before it. */
async function undo({ effect, place }: Writing, key: string, error: unknown): Promise<never> {
  if (error instanceof ProviderFailure && error.isBeforeAcceptance && REFUSALS.has(error.kind)) {
    const path = pathOfEvent(place.calendarKey, key)
    await effect.ask({ method: 'DELETE', path, schema: ignoredSchema, accepts: [204, 404] })
  }
  throw error
}

function hasMember(item: RemoteItem, member: string): boolean {
  const { times, lines } = stateOf(item)
  return truncateSeries({ start: times.start, lines, taken: [] }, member) !== null
}

/** @returns the key of the new series */
async function makeRest(
  work: Writing,
  series: SeriesThere,
  { member, creation, change }: { member: string; creation: Creation; change: EventChange },
): Promise<string> {
  const { there, item } = series
  const { mailboxZone } = work.place
  const { recurrence, start, end, ...plain } = change
  requireTold(work.options, [...there.fields.attendees, ...(plain.attendees ?? [])])
  requireMembersTold(work, item)
  await requireCopied(work, there, plain.onlineMeeting)
  const state = stateOf(item)
  const split = splitSeries({ start: state.times.start, lines: state.lines, taken: state.taken }, member)
  if (!split) throw new ProviderFailure('unsupported', 'The series cannot be split there.')
  // Both halves are checked before anything is written.
  requirePattern(split.before.lines, state.times.start, requireZoneName(state.times.start, mailboxZone))
  planProperty(await planMembers(work, series, truncated(item, split.before, member)))
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
  const plan = isSeries ? await planMembers(work, series, changed) : NO_MEMBERS
  const json = {
    ...changedCopy(work, there, plain),
    ...(isSeries ? toSeries(changed, mailboxZone) : toTimes(changed.times, mailboxZone)),
  }
  return createOnce(work, json, plan, creation)
}

/** The properties of a copy of an event with other fields. */
function changedCopy(
  { options }: Writing,
  there: EventThere,
  { onlineMeeting: isMeeting, ...plain }: Partial<PlainFields>,
): Record<string, unknown> {
  const { locations, ...copied } = copyOf(there, isMeeting)
  const joinUrl = there.event.onlineMeeting?.joinUrl ?? null
  // The copy has a meeting of its own.
  const withoutOld = { ...there, event: { ...there.event, onlineMeeting: null } }
  const patch = toPatch({ ...plain, ...(isMeeting && { onlineMeeting: true }) }, withoutOld, options.own)
  const body = patch['body'] as RemoteEvent['body'] | undefined
  return {
    ...copied,
    ...(locations !== undefined && !('location' in patch) && { locations }),
    ...patch,
    ...(body && { body: joinUrl === null ? body : withoutMeeting(body, joinUrl) }),
  }
}

/** A series that ends before one of its members. */
function truncated(item: RemoteItem, before: Series, member: string): ChangedSeries {
  const { times, exceptions } = stateOf(item)
  const kept = exceptions.filter(one => !isFrom(one, member))
  const { lines, taken } = before
  return { times, lines, taken, exceptions: new Map(kept.map(one => [one, one])) }
}

/**
 * Ends a series before one of its members.
 * @returns the keys of the exceptions that have ended
 */
export async function endSeries(work: Writing, key: string, member: string): Promise<string[]> {
  const { plan, gone } = await appliedAgain(() => sendEnd(work, key, member))
  await writeMembers(work, key, plan)
  return gone
}

async function sendEnd(
  work: Writing,
  key: string,
  member: string,
): Promise<{ plan: MembersPlan; gone: string[] }> {
  const there = await requireThere(work, key)
  requireOrganizer(there)
  requireTold(work.options, there.fields.attendees)
  const item = await requireSeries(work, there)
  requireMembersTold(work, item)
  const { times, lines, taken } = stateOf(item)
  const before = truncateSeries({ start: times.start, lines, taken }, member)
  if (!before) throw new ProviderFailure('not_found', 'The series has no such occurrence.')
  const changed = truncated(item, before, member)
  const plan = await rewriteSeries(work, { there, item, changed, patch: {} })
  const others = item.members?.exceptions.filter(({ member: one }) => isFrom(one, member)) ?? []
  return { plan, gone: exceptionKeys({ ...item, members: { exceptions: others, taken: [] } }) }
}
