import { booleanIn, wordIn } from '../../google/api/input.ts'
import type { Calendar, StoredEvent } from '../store/calendars.ts'
import { exceptionsIn, findEvent, instancesOf } from '../store/members.ts'
import { atOf, DAY_MS } from '../../calendaring/moments.ts'
import { presentTime } from '../store/times.ts'
import { type CalendarMethod, type MethodCall, requireCalendar, scopes, zoneIn } from './method.ts'
import { pageOf, sincePlace } from './pages.ts'
import { presentEvent, startKey } from './present.ts'
import { badRequest, emptyRange, invalid, notFound, updatedMinTooLongAgo } from './refusals.ts'
import { SHAPES } from './shapes.ts'

const READERS = scopes(
  '* app.created events events.freebusy events.owned events.owned.readonly events.public.readonly events.readonly readonly',
)
/** `events.watch` is open to the same scopes as the reads, and takes the parameters of the list. */
export const EVENT_READERS = READERS

export const LIST_QUERY =
  'alwaysIncludeEmail eventTypes iCalUID maxAttendees maxResults orderBy pageToken privateExtendedProperty q sharedExtendedProperty showDeleted showHiddenInvitations singleEvents syncToken timeMax timeMin timeZone updatedMin'.split(
    ' ',
  )

/** Parameters that cannot be given together with a sync token, as the reference of `events.list` lists them. */
const NOT_WITH_TOKEN =
  'iCalUID orderBy privateExtendedProperty q sharedExtendedProperty timeMin timeMax updatedMin'.split(' ')
/** Parameters of a first call after which there is no sync token. */
const WITHOUT_TOKEN = NOT_WITH_TOKEN.filter(name => name !== 'timeMin' && name !== 'timeMax')

const SIZES = { standard: 250, max: 2_500 }
const UPDATED_DAYS_MAX = 28
/** How far instances are listed if there is no `timeMax`. */
const AHEAD_DAYS = 730

export const eventMethods: readonly CalendarMethod[] = [
  {
    id: 'events.list',
    http: 'GET',
    path: 'calendars/{calendarId}/events',
    scopes: READERS,
    query: LIST_QUERY,
    answer: SHAPES.events,
    run: list,
  },
  {
    id: 'events.get',
    http: 'GET',
    path: 'calendars/{calendarId}/events/{eventId}',
    scopes: READERS,
    query: ['alwaysIncludeEmail', 'maxAttendees', 'timeZone'],
    answer: SHAPES.event,
    run(call) {
      const { calendar, role } = requireCalendar(call, 'freeBusyReader')
      const event = requireEvent(calendar, call.params['eventId'] ?? '')
      return presentEvent(calendar, event, { role, zone: zoneIn(call.query, calendar) })
    },
  },
  {
    id: 'events.instances',
    http: 'GET',
    path: 'calendars/{calendarId}/events/{eventId}/instances',
    scopes: READERS,
    query:
      'alwaysIncludeEmail maxAttendees maxResults originalStart pageToken showDeleted timeMax timeMin timeZone'.split(
        ' ',
      ),
    answer: SHAPES.events,
    run: instances,
  },
]

export function requireEvent(calendar: Calendar, id: string): StoredEvent {
  const event = findEvent(calendar, id)
  if (!event) throw notFound()
  return event
}

interface Range {
  /** Events end after it; -Infinity for no limit. */
  from: number
  /** Events begin before it. */
  to: number
}

function rangeIn(query: URLSearchParams): Range {
  const range = { from: timeIn(query, 'timeMin') ?? -Infinity, to: timeIn(query, 'timeMax') ?? Infinity }
  if (range.from >= range.to) throw emptyRange()
  return range
}

function timeIn(query: URLSearchParams, name: string): number | null {
  const text = query.get(name)
  if (text === null) return null
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(text)
    ? Date.parse(text)
    : NaN
  if (Number.isNaN(at)) throw invalid('Bad Request')
  return at
}

/** Lists events, or what has changed since a sync token. */
function list(call: MethodCall): object {
  const { query, parts } = call
  const { calendar, role } = requireCalendar(call, 'freeBusyReader')
  const isSingle = booleanIn(query, 'singleEvents')
  const order = query.has('orderBy') ? wordIn(query, 'orderBy', ['startTime', 'updated'], 'updated') : null
  if (order === 'startTime' && !isSingle)
    throw badRequest(
      'orderByStartTimeWithoutSingleEvents',
      'The requested ordering is not available for the particular query.',
      'orderBy',
    )
  requireNoRestriction(query)
  const paging = {
    parameters: JSON.stringify([calendar.id, isSingle, query.get('maxResults'), query.getAll('eventTypes')]),
    source: calendar,
    isSync: !WITHOUT_TOKEN.some(name => query.has(name)),
    sizes: SIZES,
  }
  const since = sincePlace(call, paging)
  const range = rangeIn(query)
  const zone = calendar.fields.timeZone
  const wanted = wantedOf(call, calendar, range, since?.change ?? null)
  const keyed = wanted.map(event => ({
    event,
    key:
      isSingle && order !== 'updated'
        ? startKey(event, zone)
        : changeKey(event, parts.settings.exceptionsFirst),
  }))
  const { items, tokens } = pageOf(call, paging, keyed)
  const viewer = { role, zone: zoneIn(query, calendar) }
  const { summary, description } = calendar.fields
  return {
    kind: 'calendar#events',
    etag: `"p${calendar.change}"`,
    summary,
    ...(description !== undefined && { description }),
    updated: new Date(Math.max(0, ...[...calendar.events.values()].map(one => one.updatedAt))).toISOString(),
    timeZone: viewer.zone,
    accessRole: role,
    defaultReminders: call.list.entries.get(calendar.id)?.fields['defaultReminders'] ?? [],
    ...tokens,
    items: items.map(({ event }) => presentEvent(calendar, event, viewer)),
  }
}

function requireNoRestriction(query: URLSearchParams): void {
  const isRestricted =
    NOT_WITH_TOKEN.some(name => query.has(name)) ||
    (query.has('showDeleted') && !booleanIn(query, 'showDeleted'))
  if (query.has('syncToken') && isRestricted)
    throw badRequest(
      'syncTokenWithRequestRestrictions',
      'Sync token cannot be used with other request restrictions.',
      'syncToken',
    )
}

const changeKey = ({ change, id, exceptionTo }: StoredEvent, exceptionsFirst: boolean): string =>
  `${exceptionsFirst && !exceptionTo ? '1' : '0'} ${String(change).padStart(12, '0')} ${id}`

function wantedOf(call: MethodCall, calendar: Calendar, range: Range, since: number | null): StoredEvent[] {
  const { query, parts } = call
  const isSingle = booleanIn(query, 'singleEvents')
  const updatedMin = timeIn(query, 'updatedMin')
  const now = parts.store.now()
  if (updatedMin !== null && updatedMin < now - UPDATED_DAYS_MAX * DAY_MS) throw updatedMinTooLongAgo()
  const showDeleted = booleanIn(query, 'showDeleted')
  const exceptions = exceptionsIn(calendar)
  const isChanged = (event: StoredEvent): boolean =>
    since === null ? updatedMin === null || event.updatedAt >= updatedMin : event.change > since
  const isShown = (event: StoredEvent): boolean => {
    if (event.status !== 'cancelled' || showDeleted || since !== null || updatedMin !== null) return true
    const series = calendar.events.get(event.exceptionTo?.id ?? '')
    return event.exceptionTo !== null && !isSingle && series?.status !== 'cancelled'
  }
  const zone = calendar.fields.timeZone
  const horizon = Math.min(range.to, Math.max(now, range.from) + AHEAD_DAYS * DAY_MS)
  return [...calendar.events.values()].flatMap(event => {
    if (isSingle && isSeries(event)) {
      if (event.status === 'cancelled' || !isChanged(event)) return []
      const own = exceptions.get(event.id) ?? []
      return instancesOf(event, own, Math.max(range.from, atOf(event.start, zone)), horizon).filter(
        one => isShown(one) && overlaps(one, range, zone) && matches(one, query),
      )
    }
    // Instances of a series come with it, so its exceptions are not listed twice.
    const series = isSingle ? calendar.events.get(event.exceptionTo?.id ?? '') : undefined
    if (series && series.status !== 'cancelled' && isChanged(series)) return []
    const isWanted =
      isChanged(event) &&
      isShown(event) &&
      matches(event, query) &&
      (isSeries(event) ? hasMember(event, range, horizon, zone) : overlaps(event, range, zone))
    return isWanted ? [event] : []
  })
}

/** Spans of days within which instances are looked for, one after another, since most series have one in the first. */
const SPANS_DAYS = [31, 366]

function hasMember(series: StoredEvent, range: Range, horizon: number, zone: string): boolean {
  if (range.from === -Infinity && range.to === Infinity) return true
  const from = Math.max(range.from, atOf(series.start, zone))
  const ends = SPANS_DAYS.map(days => Math.min(from + days * DAY_MS, horizon))
  return [...ends, horizon].some(end =>
    instancesOf(series, [], from, end).some(one => overlaps(one, range, zone)),
  )
}

const isSeries = ({ recurrence }: StoredEvent): boolean => recurrence.length > 0

export const overlaps = ({ start, end }: StoredEvent, { from, to }: Range, zone: string): boolean =>
  (from === -Infinity || atOf(end, zone) > from) && (to === Infinity || atOf(start, zone) < to)

function matches({ contents, iCalUID }: StoredEvent, query: URLSearchParams): boolean {
  const uid = query.get('iCalUID')
  const types = query.getAll('eventTypes')
  const words = query.get('q')?.toLowerCase() ?? ''
  const properties = (contents['extendedProperties'] ?? {}) as Record<string, Record<string, string>>
  const has = (kind: 'private' | 'shared') =>
    query.getAll(`${kind}ExtendedProperty`).every(text => {
      const [name = '', ...value] = text.split('=')
      return properties[kind]?.[name] === value.join('=')
    })
  const text = ['summary', 'description', 'location'].map(name => contents[name] ?? '').join('\n')
  return (
    (uid === null || uid === iCalUID) &&
    (types.length === 0 || types.some(type => type === (contents['eventType'] ?? 'default'))) &&
    has('private') &&
    has('shared') &&
    text.toLowerCase().includes(words)
  )
}

function instances(call: MethodCall): object {
  const { query, params } = call
  const { calendar, role } = requireCalendar(call, 'freeBusyReader')
  const series = requireEvent(calendar, params['eventId'] ?? '')
  if (!isSeries(series) || series.status === 'cancelled') throw notFound()
  const range = rangeIn(query)
  const { timeZone: zone } = calendar.fields
  const original = query.get('originalStart')
  const showDeleted = booleanIn(query, 'showDeleted')
  const horizon = Math.min(range.to, Math.max(call.parts.store.now(), range.from) + AHEAD_DAYS * DAY_MS)
  const own = exceptionsIn(calendar).get(series.id) ?? []
  const from = Math.max(range.from, atOf(series.start, zone))
  const keyed = instancesOf(series, own, from, original === null ? horizon : Date.parse(original) + DAY_MS)
    .filter(
      event =>
        (event.status !== 'cancelled' || showDeleted) &&
        overlaps(event, range, zone) &&
        (original === null || isOriginal(event, original)),
    )
    .map(event => ({ event, key: startKey(event, zone) }))
  const paging = {
    parameters: JSON.stringify(['instances', calendar.id, series.id, original]),
    source: calendar,
    isSync: false,
    sizes: SIZES,
  }
  const { items, tokens } = pageOf(call, paging, keyed)
  const viewer = { role, zone: zoneIn(query, calendar) }
  return {
    kind: 'calendar#events',
    etag: `"p${calendar.change}"`,
    summary: calendar.fields.summary,
    updated: new Date(series.updatedAt).toISOString(),
    timeZone: viewer.zone,
    accessRole: role,
    defaultReminders: [],
    ...tokens,
    items: items.map(({ event }) => presentEvent(calendar, event, viewer)),
  }
}

function isOriginal({ exceptionTo }: StoredEvent, text: string): boolean {
  if (!exceptionTo) return false
  const { date, dateTime } = presentTime(exceptionTo.start, 'UTC')
  return date === undefined ? Date.parse(dateTime ?? '') === Date.parse(text) : date === text.slice(0, 10)
}
