import { byStart, type CalendarEvent, occurrencesIn, wholeEvent } from '../../mailbox/occurrences.ts'
import { badRequest } from '../errors.ts'
import { type GraphAnswer, type GraphMethod, type MethodCall, ok, READ_CALENDARS } from '../method.ts'
import { inOrder, parseOrder } from '../odata/order.ts'
import { contextOf, pageOf } from '../odata/paging.ts'
import type { Option } from '../odata/query.ts'
import { eventFilter, eventReader, isEventOrder } from './event-filter.ts'
import { presentEvent } from './event-shape.ts'
import { spanIn } from './event-times.ts'
import {
  EVENT_LIST_PATHS,
  EVENT_PATHS,
  type FoundCalendar,
  requireCalendar,
  requireEvent,
  viewIn,
  VIEW_PATHS,
} from './find.ts'

const LIST_OPTIONS: readonly Option[] = ['select', 'expand', 'filter', 'orderby', 'top', 'skip', 'count']

const read = (
  path: string,
  run: GraphMethod['run'],
  options: readonly Option[] = LIST_OPTIONS,
): GraphMethod => ({ http: 'GET', path, scopes: READ_CALENDARS, options, run })

/** Methods that read events and their occurrences. */
export const eventReadMethods: readonly GraphMethod[] = [
  ...EVENT_LIST_PATHS.map(path => read(path, list)),
  ...EVENT_PATHS.map(path => read(path, get, ['select', 'expand'])),
  ...EVENT_PATHS.map(path => read(`${path}/instances`, listInstances)),
  ...EVENT_PATHS.map(path => read(`${path}/attachments`, listAttachments, ['select'])),
  ...VIEW_PATHS.map(path => read(path, view)),
]

export const eventsContext = ({ url, mailbox }: MethodCall, of: string): string =>
  contextOf(url, `users('${encodeURIComponent(mailbox.email)}')/${of}`)

/** The single events and the series of a calendar, the newest first. */
function list(call: MethodCall): GraphAnswer {
  const found = requireCalendar(call)
  const events = [...found.calendar.events.values()].toReversed().map(wholeEvent)
  return answerPage(call, found, { events, of: 'events' })
}

/** The single events and occurrences of a calendar that take place in a time, by their start. */
function view(call: MethodCall): GraphAnswer {
  const found = requireCalendar(call)
  const span = spanIn(call.query.parameters)
  const events = [...found.calendar.events.values()]
    .flatMap(event => occurrencesIn(found.mailbox, event, span))
    .toSorted(byStart)
  return answerPage(call, found, { events, of: 'calendarView' })
}

function listInstances(call: MethodCall): GraphAnswer {
  const found = requireEvent(call)
  const span = spanIn(call.query.parameters)
  if (found.event.type !== 'seriesMaster')
    throw badRequest('Only a series master has instances.', 'ErrorInvalidRequest')
  return answerPage(call, found, {
    events: occurrencesIn(found.mailbox, found.event.of, span),
    of: 'instances',
  })
}

/** The attachments of an event, by their names and sizes. */
function listAttachments(call: MethodCall): GraphAnswer {
  const { event } = requireEvent(call)
  const value = event.attachments.map((file, nth) => ({
    '@odata.type': '#microsoft.graph.fileAttachment',
    id: `${event.immutableId}${nth}`,
    ...file,
  }))
  return ok({ '@odata.context': eventsContext(call, 'attachments'), value })
}

/** The page of these events that `$filter`, `$orderby` and the options of paging ask for. */
function answerPage(
  call: MethodCall,
  found: FoundCalendar,
  { events, of }: { events: readonly CalendarEvent[]; of: string },
): GraphAnswer {
  const { query, url, prefer } = call
  const text = query.options.get('filter')
  const filter = text === undefined ? null : eventFilter(text)
  const order = parseOrder(query.options.get('orderby'), isEventOrder)
  const fitting = filter ? events.filter(event => filter.test(event)) : events
  const { items, annotations } = pageOf(inOrder(fitting, order, eventReader), query, url, prefer.pageSize)
  const shown = viewIn(call, found)
  return ok({
    '@odata.context': eventsContext(call, of),
    ...annotations,
    value: items.map(event => presentEvent(event, shown)),
  })
}

function get(call: MethodCall): GraphAnswer {
  const found = requireEvent(call)
  return ok({
    '@odata.context': eventsContext(call, 'events/$entity'),
    ...presentEvent(found.event, viewIn(call, found)),
  })
}
