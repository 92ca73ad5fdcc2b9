import { type Calendar, deleteCalendar, newCalendar, recordEvent, touchEntries } from '../store/calendars.ts'
import { isZone } from '../../calendaring/moments.ts'
import { merged } from './event-input.ts'
import { type CalendarMethod, type MethodCall, requireCalendar, scopes } from './method.ts'
import { calendarEtag, presentCalendar } from './present.ts'
import { badRequest, conditionNotMet, invalid, required } from './refusals.ts'
import { SHAPES } from './shapes.ts'

const WRITERS = scopes('* app.created calendars')
const PATH = 'calendars/{calendarId}'

export const calendarMethods: readonly CalendarMethod[] = [
  {
    id: 'calendars.get',
    http: 'GET',
    path: PATH,
    scopes: scopes('* app.created calendars calendars.readonly readonly'),
    answer: SHAPES.calendar,
    run: call => presentCalendar(requireCalendar(call, 'reader').calendar),
  },
  {
    id: 'calendars.insert',
    http: 'POST',
    path: 'calendars',
    scopes: WRITERS,
    body: SHAPES.calendar,
    answer: SHAPES.calendar,
    run({ parts: { store }, list, body }) {
      const primary = store.calendars.get(list.email)
      const fields = fieldsIn({ timeZone: primary?.fields.timeZone ?? 'UTC', ...body })
      return presentCalendar(newCalendar(store, list, { fields }))
    },
  },
  {
    id: 'calendars.patch',
    http: 'PATCH',
    path: PATH,
    scopes: WRITERS,
    body: SHAPES.calendar,
    answer: SHAPES.calendar,
    run(call) {
      const calendar = requireOwned(call)
      calendar.fields = fieldsIn(merged({ ...calendar.fields }, call.body))
      touchEntries(call.parts.store, calendar)
      return presentCalendar(calendar)
    },
  },
  {
    id: 'calendars.delete',
    http: 'DELETE',
    path: PATH,
    scopes: WRITERS,
    run(call): undefined {
      const calendar = requireOwned(call)
      if (calendar.isPrimary)
        throw badRequest('cannotDeletePrimaryCalendar', 'The primary calendar of a user cannot be deleted.')
      deleteCalendar(call.parts.store, calendar)
    },
  },
  {
    id: 'calendars.clear',
    http: 'POST',
    path: `${PATH}/clear`,
    scopes: scopes('* calendars'),
    run(call): undefined {
      const calendar = requireOwned(call)
      if (!calendar.isPrimary) throw invalid('Only the primary calendar of a user can be cleared.')
      for (const event of calendar.events.values())
        if (event.status !== 'cancelled')
          recordEvent(call.parts.store, calendar, { ...event, status: 'cancelled' })
    },
  },
]

function requireOwned(call: MethodCall): Calendar {
  const { calendar } = requireCalendar(call, 'owner')
  const match = call.headers.get('if-match')
  if (match !== null && match !== '*' && match !== calendarEtag(calendar)) throw conditionNotMet()
  return calendar
}

function fieldsIn(body: Record<string, unknown>): Calendar['fields'] {
  const { summary, description, location, timeZone } = body
  if (typeof summary !== 'string' || summary === '') throw required('Missing title.')
  if (typeof timeZone !== 'string' || !isZone(timeZone)) throw invalid('Invalid time zone definition.')
  return {
    summary,
    timeZone,
    ...(typeof description === 'string' && { description }),
    ...(typeof location === 'string' && { location }),
  }
}
