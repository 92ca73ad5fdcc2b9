import { isDeepStrictEqual } from 'node:util'
import { comparedAddress } from '../src/kit/compared-address.ts'
import { expand } from '../src/kit/recurrence/expand.ts'
import { printRecurrence } from '../src/kit/recurrence/recurrence-lines.ts'
import { type Series, splitSeries, truncateSeries } from '../src/kit/recurrence/split-series.ts'
import { isDay, requireWall, printDay, printWall } from '../src/kit/wall-clock.ts'
import type { RemoteEvent } from '../src/providers/calendars.ts'
import type {
  CalendarsWriter,
  ChangedPart,
  EventChange,
  EventInput,
  ItemPlace,
  WriteOptions,
  WrittenEvents,
} from '../src/providers/changing-calendars.ts'
import { ProviderFailure } from '../src/providers/failure.ts'
import { type EventTimes, newTimes, timesOfMember } from '../src/providers/new-times.ts'
import { changeSeries, lacksMember, requireChangeFrom } from '../src/providers/series-change.ts'
import { type HeldItem, type MemoryCalendars, PLAIN_EVENT } from './memory-calendars.ts'

/** Writes to calendars in memory. Wherever one may be killed, `wait` is called. */
export function memoryWriter(
  memory: MemoryCalendars,
  wait: (call: string) => Promise<void>,
): CalendarsWriter {
  const writer: CalendarsWriter = {
    async createCalendar({ creationId, mayExist, ...fields }) {
      await wait('createCalendar')
      const made = mayExist ? memory.creations.get(creationId) : undefined
      const key = made ?? memory.createCalendar(fields.name, fields)
      memory.creations.set(creationId, key)
      await wait('createCalendar done')
      return memory.answer({ ...memory.calendars.get(key)! })
    },

    async changeCalendar(key, change) {
      await wait('changeCalendar')
      memory.requireCalendar(key)
      memory.updateCalendar(key, change)
      await wait('changeCalendar done')
      const answer = memory.answer({ ...memory.calendars.get(key)! })
      await wait('changeCalendar answered')
      return answer
    },

    async removeCalendar(key) {
      await wait('removeCalendar')
      memory.requireCalendar(key)
      memory.removeCalendar(key)
      await wait('removeCalendar done')
      memory.answer(null)
    },

    async tellsPeople() {
      await wait('tellsPeople')
      return memory.tellsPeople
    },

    async createEvent({ calendarKey, fields, creationId, mayExist }, options) {
      await wait('createEvent')
      memory.requireCalendar(calendarKey)
      const made = mayExist ? memory.findCreated(calendarKey, creationId) : null
      const event = newEvent(memory, fields, options)
      const recurrence = fields.recurrence && printRecurrence(fields.recurrence, fields.start)
      const item = made ?? memory.addCreated(calendarKey, creationId, { event, recurrence })
      await wait('createEvent made')
      for (const member of fields.recurrence?.taken ?? [])
        if (!item.members.has(member)) {
          memory.setMember(item.key, member, null)
          await wait('createEvent taken')
        }
      return memory.answer(written(memory, item, [], item))
    },

    async changeEvent({ place, part, change }, options) {
      await wait('changeEvent')
      const item = memory.requireItem(place)
      const before = memberKeys(memory, item)
      if (part.type === 'following') return splitItem(item, part, change, options)
      if (part.type === 'all') {
        const planned = requireChangeFrom(item.event!.start, change, part.timesOf)
        changeWhole(memory, item, planned.change, planned.timesOf, options)
      } else {
        const base = requireMember(item, part.member)
        const event = changedEvent(memory, base, change, options)
        memory.setMember(item.key, part.member, { ...event, ...newTimes(timesOfEvent(base), change) })
      }
      await wait('changeEvent done')
      const answer = memory.answer(written(memory, item, before, item))
      // It may be out of date when it arrives.
      await wait('changeEvent answered')
      return answer
    },

    async requireChangeable({ place, change }, options) {
      await wait('requireChangeable')
      changedEvent(memory, memory.requireItem(place).event ?? PLAIN_EVENT, change, options)
    },

    async removeEvent({ place, part }) {
      await wait('removeEvent')
      const item = memory.requireItem(place)
      const before = memberKeys(memory, item)
      if (part.type === 'all') {
        memory.remove(item.key)
        await wait('removeEvent done')
        const gone = [item.key, ...before].map(key => ({ calendarKey: place.calendarKey, key }))
        return memory.answer({ items: [], gone, place })
      }
      requireMember(item, part.member)
      if (part.type === 'member') memory.setMember(item.key, part.member, null)
      else truncate(memory, item, part.member)
      await wait('removeEvent done')
      return memory.answer(written(memory, item, before, item))
    },

    async moveEvent({ place, toCalendarKey, creationId, mayExist }) {
      await wait('moveEvent')
      memory.requireCalendar(toCalendarKey)
      if (memory.kind === 'members') {
        // It keeps its key, and nothing shows which request has moved it.
        const there = mayExist ? memory.items.get(place.key) : undefined
        const isMoved = there?.calendarKey === toCalendarKey
        const moved = isMoved ? there : memory.move(memory.requireItem(place).key, toCalendarKey)
        await wait('moveEvent done')
        const { items } = written(memory, moved, [], moved)
        return memory.answer({ items, gone: [place], place: placeOf(moved) })
      }
      const made = mayExist ? memory.findCreated(toCalendarKey, creationId) : null
      const copy = made ?? memory.copyCreated(memory.requireItem(place), toCalendarKey, creationId)
      await wait('moveEvent copied')
      if (memory.items.has(place.key)) memory.remove(place.key)
      await wait('moveEvent done')
      const { items } = written(memory, copy, [], copy)
      return memory.answer({ items, gone: [place], place: placeOf(copy) })
    },

    async respond({ place, part, response }, options) {
      await wait('respond')
      const item = memory.requireItem(place)
      const answered = (event: RemoteEvent): RemoteEvent => ({
        ...event,
        attendees: event.attendees.map(one =>
          options.own.has(comparedAddress(one.address)) ? { ...one, response } : one,
        ),
      })
      const isInvited = item.event?.attendees.some(one => options.own.has(comparedAddress(one.address)))
      if (!isInvited) throw new ProviderFailure('rejected', 'The account is not invited.')
      if (response === 'declined' && part.type === 'all' && memory.removesDeclined) {
        memory.remove(item.key)
        await wait('respond done')
        return memory.answer({ items: [], gone: [place], place })
      }
      if (part.type === 'member')
        memory.setMember(item.key, part.member, answered(requireMember(item, part.member)))
      else {
        memory.update(item.key, answered(item.event!))
        for (const { member, event } of item.members.values())
          if (event) memory.setMember(item.key, member, answered(event))
      }
      await wait('respond done')
      return memory.answer(written(memory, item, [], item))
    },

    async findCreated({ calendarKey, creationId }) {
      await wait('findCreated')
      return memory.findCreated(calendarKey, creationId)?.key ?? null
    },
  }
  return writer

  /** Makes the new series first, and then truncates the old one. */
  async function splitItem(
    item: HeldItem,
    part: Extract<ChangedPart, { type: 'following' }>,
    change: EventChange,
    options: WriteOptions,
  ): Promise<WrittenEvents> {
    const { member, creationId, mayExist } = part
    const before = memberKeys(memory, item)
    let made = mayExist ? memory.findCreated(item.calendarKey, creationId) : null
    if (!made) {
      const { event } = item
      const split = splitSeries(seriesOf(item), requireMember(item, member) && member)
      if (!split || !event) throw new ProviderFailure('unsupported', 'The series cannot be split there.')
      made = memory.addCreated(item.calendarKey, creationId, {
        event: { ...event, ...timesOfMember(event, member), iCalUid: creationId },
        recurrence: split.after.lines,
      })
      for (const held of item.members.values())
        if (held.member >= member) memory.setMember(made.key, held.member, held.event)
      changeWhole(memory, made, change, null, options)
      await wait('changeEvent split')
    }
    if (isMember(item, member)) truncate(memory, item, member)
    await wait('changeEvent done')
    const [old, next] = [written(memory, item, before, item), written(memory, made, [], made)]
    return memory.answer({ ...next, items: [...old.items, ...next.items], gone: old.gone })
  }
}

const timesOfEvent = ({ start, end }: RemoteEvent): EventTimes => ({ start, end })
const placeOf = ({ calendarKey, key }: HeldItem): ItemPlace => ({ calendarKey, key })

/** Keys of members that are told one by one. */
const memberKeys = ({ kind }: MemoryCalendars, { members }: HeldItem) =>
  kind === 'members' ? [...members.values()].map(({ key }) => key) : []

/** The item with its members as they are now. @param before the keys of its members before the write */
function written(
  memory: MemoryCalendars,
  item: HeldItem,
  before: readonly string[],
  at: HeldItem,
): WrittenEvents {
  const { calendarKey } = item
  const now = memberKeys(memory, item)
  return {
    items: memory.objectsOf(calendarKey, [item.key, ...now]).map(object => ({ calendarKey, object })),
    gone: before.filter(key => !now.includes(key)).map(key => ({ calendarKey, key })),
    place: placeOf(at),
  }
}

function newEvent({ kind }: MemoryCalendars, input: EventInput, { self }: WriteOptions): RemoteEvent {
  const { recurrence: _, onlineMeeting, attendees, reminderMinutes = 10, ...fields } = input
  if (onlineMeeting && kind === 'files')
    throw new ProviderFailure('unsupported', 'The calendar has no online meetings.')
  return {
    ...PLAIN_EVENT,
    ...fields,
    ...(onlineMeeting && { onlineMeetingUrl: 'https://meet.test/a', onlineMeetingProvider: 'other' }),
    reminderMinutes,
    organizer: attendees.length > 0 ? self : null,
    attendees: attendees.map(one => ({ ...one, response: 'needs_action' })),
  }
}

/** The event with the fields of a change, and the times that it had. */
function changedEvent(
  { kind }: MemoryCalendars,
  before: RemoteEvent,
  change: EventChange,
  { self }: WriteOptions,
): RemoteEvent {
  const { start: _, end: __, recurrence: ___, onlineMeeting, attendees, ...fields } = change
  if (onlineMeeting && kind === 'files')
    throw new ProviderFailure('unsupported', 'The calendar has no online meetings.')
  const known = new Map(before.attendees.map(one => [comparedAddress(one.address), one]))
  return {
    ...before,
    ...fields,
    ...(onlineMeeting && {
      onlineMeetingUrl: 'https://meet.test/a',
      onlineMeetingProvider: 'other' as const,
    }),
    ...(attendees && {
      organizer: before.organizer ?? (attendees.length > 0 ? self : null),
      attendees: attendees.map(one => ({
        response: 'needs_action' as const,
        ...known.get(comparedAddress(one.address)),
        ...one,
      })),
    }),
  }
}

const takenOf = ({ members }: HeldItem) =>
  [...members.values()].filter(({ event }) => event === null).map(({ member }) => member)

const seriesOf = (item: HeldItem): Series => ({
  start: item.event!.start,
  lines: item.recurrence ?? [],
  taken: takenOf(item),
})

function isMember(item: HeldItem, member: string): boolean {
  const print = isDay(member) ? printDay : printWall
  const to = print(requireWall(member) + (isDay(member) ? 86_400_000 : 1_000))
  const { members } = expand({ lines: item.recurrence ?? [], start: item.event!.start, from: member, to })
  return members.some(({ wall }) => wall === member)
}

/** A member as it is now. */
function requireMember(item: HeldItem, member: string): RemoteEvent {
  const held = item.members.get(member)
  if (held?.event) return held.event
  if (held || !item.event || !isMember(item, member))
    throw new ProviderFailure('not_found', 'There is no such occurrence.')
  return { ...item.event, ...timesOfMember(item.event, member) }
}

function truncate(memory: MemoryCalendars, item: HeldItem, member: string): void {
  const left = truncateSeries(seriesOf(item), member)
  if (!left) throw new ProviderFailure('unsupported', 'The series cannot end there.')
  for (const held of item.members.values())
    if (held.member >= member) memory.clearMember(item.key, held.member)
  for (const taken of left.taken) if (!item.members.has(taken)) memory.setMember(item.key, taken, null)
  memory.update(item.key, {}, left.lines)
}

/** Changes a single or a whole series. */
function changeWhole(
  memory: MemoryCalendars,
  item: HeldItem,
  change: EventChange,
  timesOf: string | null,
  options: WriteOptions,
): void {
  const before = item.event!
  const { recurrence } = change
  const event = changedEvent(memory, before, change, options)
  const exceptions = [...item.members.values()].filter(one => one.event !== null)
  const state = {
    times: timesOfEvent(before),
    lines: item.recurrence ?? [],
    taken: takenOf(item),
    exceptions: exceptions.map(({ member }) => member),
  }
  if (lacksMember(state, change, timesOf))
    throw new ProviderFailure('not_found', 'There is no such occurrence.')
  if (item.recurrence === null || recurrence === null) {
    const times = newTimes(timesOfEvent(before), change, timesOf)
    const lines = recurrence ? printRecurrence(recurrence, times.start) : null
    memory.update(item.key, { ...event, ...times }, lines)
    for (const member of recurrence?.taken ?? []) memory.setMember(item.key, member, null)
    return
  }
  const { recurrence: rule, ...times } = change
  const changed = changeSeries(state, { ...times, ...(rule && { recurrence: rule }) }, timesOf)
  if (!changed) throw new ProviderFailure('unsupported', 'The rule cannot move there.')
  const held = new Map(
    exceptions.flatMap(({ member, event: own }) => {
      const name = changed.exceptions.get(member)
      if (name === undefined || !own) return []
      const given = timesOfMember(before, member)
      const hasOwnTimes = !isDeepStrictEqual([own.start, own.end], [given.start, given.end])
      const left = hasOwnTimes ? own : { ...own, ...timesOfMember(changed.times, name) }
      return [[name, followSeries(left, before, event)] as const]
    }),
  )
  for (const member of item.members.keys())
    if (!held.has(member) && !changed.taken.includes(member)) memory.clearMember(item.key, member)
  memory.update(item.key, { ...event, ...changed.times }, changed.lines)
  for (const [member, own] of held)
    if (!isDeepStrictEqual(item.members.get(member)?.event, own)) memory.setMember(item.key, member, own)
  for (const member of changed.taken)
    if (item.members.get(member)?.event !== null) memory.setMember(item.key, member, null)
}

/** An exception after a change of its series: fields that were those of the series still are. */
function followSeries(own: RemoteEvent, before: RemoteEvent, after: RemoteEvent): RemoteEvent {
  const names = Object.keys(after) as Array<keyof RemoteEvent>
  const same = names.filter(
    name => name !== 'start' && name !== 'end' && isDeepStrictEqual(own[name], before[name]),
  )
  return { ...own, ...Object.fromEntries(same.map(name => [name, after[name]])) }
}
