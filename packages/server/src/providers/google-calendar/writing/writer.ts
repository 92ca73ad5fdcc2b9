import { randomUUID } from 'node:crypto'
import type {
  CalendarsWriter,
  ChangedPart,
  EventChange,
  ItemPlace,
  WriteOptions,
  WrittenEvents,
} from '../../changing-calendars.ts'
import { changingBy, rehearsing } from '../../effect.ts'
import type { CalendarApi } from '../calendar-api.ts'
import { findEvent } from '../following.ts'
import { requireNamed } from '../reading.ts'
import { changeCalendar, createCalendar, removeCalendar } from './calendars.ts'
import { changeMember, createdKey, createEvent } from './change-event.ts'
import { changeWhole } from './change-series.ts'
import { askEvent, deleteEvent, moveEvent } from './event-calls.ts'
import { askHeld, askMember, type EventWrite, findHeld, writtenEvents } from './event-write.ts'
import { respond } from './respond.ts'
import { isSeries, loadSeries } from './series.ts'
import { changeFollowing, removeFollowing } from './split-event.ts'
import { openCalendar } from './surroundings.ts'

/** Changes the calendars of a user of Google. Its calls belong to somebody's request. */
export class GoogleCalendarWriter implements CalendarsWriter {
  readonly #api: CalendarApi

  constructor(api: CalendarApi) {
    this.#api = api
  }

  createCalendar(fields: Parameters<CalendarsWriter['createCalendar']>[0]) {
    return createCalendar(this.#api, fields)
  }

  changeCalendar(key: string, change: Parameters<CalendarsWriter['changeCalendar']>[1]) {
    return changeCalendar(this.#api, key, change)
  }

  removeCalendar(key: string) {
    return removeCalendar(this.#api, key)
  }

  async tellsPeople() {
    return true
  }

  createEvent(
    { calendarKey, fields, ...creation }: Parameters<CalendarsWriter['createEvent']>[0],
    options: WriteOptions,
  ) {
    const { creationId: requestId } = creation
    return this.#write(calendarKey, options, requestId, write => createEvent(write, fields, creation))
  }

  changeEvent(
    { place: { calendarKey, key }, part, change }: Parameters<CalendarsWriter['changeEvent']>[0],
    options: WriteOptions,
  ) {
    const requestId = part.type === 'following' ? part.creationId : randomUUID()
    return this.#write(calendarKey, options, requestId, write => changePart(write, key, part, change))
  }

  requireChangeable(
    { place, part, change, toCalendarKey }: Parameters<CalendarsWriter['requireChangeable']>[0],
    options: WriteOptions,
  ) {
    return rehearsing(
      record => record,
      async record => {
        const calendar = await openCalendar(this.#api, place.calendarKey)
        const { allowsMeet } = (await openCalendar(this.#api, toCalendarKey)).entry
        const there = { ...calendar, entry: { ...calendar.entry, allowsMeet } }
        const write = { calendar: there, options, record, requestId: randomUUID() }
        return changePart(write, place.key, part, change)
      },
    )
  }

  removeEvent({ place, part }: Parameters<CalendarsWriter['removeEvent']>[0], options: WriteOptions) {
    const { calendarKey, key } = place
    return this.#write(calendarKey, options, '', async write => {
      const { api } = write.calendar
      if (part.type === 'following') return removeFollowing(write, key, part)
      const held = part.type === 'member' ? (await askMember(write, key, part)).key : key
      await write.record.run(() => deleteEvent(api, { calendarKey, key: held }, options.notify))
      if (part.type === 'all') return { items: [], gone: [place], place }
      return writtenEvents(write, key, [await askEvent(api, { calendarKey, key: held })])
    })
  }

  moveEvent(
    { place, toCalendarKey, mayExist }: Parameters<CalendarsWriter['moveEvent']>[0],
    options: WriteOptions,
  ) {
    return this.#write(place.calendarKey, options, '', async write => {
      const target = { ...write, calendar: await openCalendar(this.#api, toCalendarKey) }
      const isMoved = mayExist && !(await findHeld(write, place.key))
      if (!isMoved) await write.record.run(() => moveEvent(this.#api, place, toCalendarKey, options.notify))
      return { ...(await readMoved(target, place)), gone: [place] }
    })
  }

  respond(
    { place: { calendarKey, key }, part, ...response }: Parameters<CalendarsWriter['respond']>[0],
    options: WriteOptions,
  ) {
    return this.#write(calendarKey, options, '', write =>
      respond(write, key, part.type === 'member' ? part : null, response),
    )
  }

  async findCreated(
    { calendarKey, creationId }: Parameters<CalendarsWriter['findCreated']>[0],
    signal: AbortSignal,
  ) {
    const found = await findEvent(this.#api, calendarKey, createdKey({ creationId }), signal)
    const named = found === null ? null : requireNamed(found)
    return named && named.status !== 'cancelled' ? named.id : null
  }

  /** @param requestId of a meeting that Google is to make */
  #write(
    calendarKey: string,
    options: WriteOptions,
    requestId: string,
    work: (write: EventWrite) => Promise<WrittenEvents>,
  ): Promise<WrittenEvents> {
    return changingBy(
      record => record,
      async record =>
        work({ calendar: await openCalendar(this.#api, calendarKey), options, record, requestId }),
    )
  }
}

function changePart(
  write: EventWrite,
  key: string,
  part: ChangedPart,
  change: EventChange,
): Promise<WrittenEvents> {
  if (part.type === 'member') return changeMember(write, key, part, change)
  if (part.type === 'following') return changeFollowing(write, key, part, change)
  return changeWhole(write, key, change, part.timesOf)
}

/** A moved event with its exceptions, as its new calendar has them. */
async function readMoved(target: EventWrite, { key }: ItemPlace): Promise<WrittenEvents> {
  const held = await askHeld(target, key)
  if (!isSeries(held)) return writtenEvents(target, key, [held.raw])
  const { answered } = await loadSeries(target, held)
  return writtenEvents(target, key, [held.raw, ...answered])
}
