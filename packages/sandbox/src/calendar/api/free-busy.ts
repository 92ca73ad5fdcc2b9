import { type Calendar, roleIn, type StoredEvent } from '../store/calendars.ts'
import { exceptionsIn, instancesOf } from '../store/members.ts'
import { atOf } from '../../calendaring/moments.ts'
import { overlaps } from './events.ts'
import { type CalendarMethod, type MethodCall, scopes } from './method.ts'
import { emptyRange, invalid, required } from './refusals.ts'
import { SHAPES } from './shapes.ts'

const CALENDARS_MAX = 50

export const freeBusyMethods: readonly CalendarMethod[] = [
  {
    id: 'freebusy.query',
    http: 'POST',
    path: 'freeBusy',
    scopes: scopes('* events.freebusy freebusy readonly'),
    body: SHAPES.freeBusyRequest,
    answer: SHAPES.freeBusy,
    run: query,
  },
]

/** Answers when calendars are busy. A calendar that the caller cannot see has an error of its own. */
function query(call: MethodCall): object {
  const { body, parts, list } = call
  const range = { from: timeIn(body, 'timeMin'), to: timeIn(body, 'timeMax') }
  if (range.from >= range.to) throw emptyRange()
  const { items = [] } = body
  if (!Array.isArray(items) || items.some(item => typeof item?.id !== 'string')) throw invalid('Bad Request')
  const { calendarExpansionMax: asked = CALENDARS_MAX } = body
  const most = typeof asked === 'number' ? Math.min(asked, CALENDARS_MAX) : CALENDARS_MAX
  const ids = (items as Array<{ id: string }>).map(({ id }) => id)
  const calendars = ids.map((id, at) => {
    const calendar = parts.store.calendars.get(id === 'primary' ? list.email : id.toLowerCase())
    if (at >= most) return [id, failed('tooManyCalendarsRequested')]
    if (!calendar || !roleIn(parts.store, calendar, list.email)) return [id, failed('notFound')]
    return [id, { busy: busyTimes(calendar, range) }]
  })
  return {
    kind: 'calendar#freeBusy',
    timeMin: new Date(range.from).toISOString(),
    timeMax: new Date(range.to).toISOString(),
    calendars: Object.fromEntries(calendars),
  }
}

const failed = (reason: string): object => ({ errors: [{ domain: 'global', reason }], busy: [] })

function timeIn(body: Record<string, unknown>, name: string): number {
  const text = body[name]
  if (typeof text !== 'string') throw required(`Missing ${name} parameter.`)
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw invalid('Bad Request')
  return at
}

function busyTimes(calendar: Calendar, range: { from: number; to: number }): object[] {
  const zone = calendar.fields.timeZone
  const exceptions = exceptionsIn(calendar)
  const times = [...calendar.events.values()]
    .flatMap(event => {
      if (event.status === 'cancelled') return []
      if (event.recurrence.length > 0)
        return instancesOf(event, exceptions.get(event.id) ?? [], range.from, range.to)
      // An exception comes with its series.
      return calendar.events.has(event.exceptionTo?.id ?? '') ? [] : [event]
    })
    .filter(event => isBusy(calendar, event) && overlaps(event, range, zone))
    .map(({ start, end }) => ({
      start: Math.max(atOf(start, zone), range.from),
      end: Math.min(atOf(end, zone), range.to),
    }))
    .filter(({ start, end }) => start < end)
    .toSorted((a, b) => a.start - b.start)
  const merged: Array<{ start: number; end: number }> = []
  for (const time of times) {
    const last = merged.at(-1)
    if (last && time.start <= last.end) last.end = Math.max(last.end, time.end)
    else merged.push(time)
  }
  const text = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z')
  return merged.map(({ start, end }) => ({ start: text(start), end: text(end) }))
}

function isBusy(calendar: Calendar, { status, contents, attendees }: StoredEvent): boolean {
  const own = attendees.find(({ email }) => email === calendar.id)
  return (
    status !== 'cancelled' && contents['transparency'] !== 'transparent' && own?.responseStatus !== 'declined'
  )
}
