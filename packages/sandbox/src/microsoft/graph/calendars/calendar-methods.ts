import {
  addCalendar,
  changeCalendar,
  markCalendar,
  removeCalendar,
  shareCalendar,
} from '../../mailbox/calendars.ts'
import { type CalendarColor, COLORS } from '../../mailbox/event.ts'
import { badRequest, folderExists, GraphRefusal } from '../errors.ts'
import { expandedIds } from '../extended.ts'
import { extendedIn, text, unknownProperty, word } from '../message-input.ts'
import {
  created,
  type GraphAnswer,
  type GraphMethod,
  type MethodCall,
  noContent,
  ok,
  READ_CALENDARS,
  WRITE_CALENDARS,
} from '../method.ts'
import { pageOf } from '../odata/paging.ts'
import { parseExpand, parseSelect } from '../odata/select.ts'
import { CALENDAR_PATHS, calendarsOf, type FoundCalendar, requireCalendar, requireWriter } from './find.ts'
import { eventsContext } from './reading.ts'

const NAME_CHARACTERS_MAX = 250
const TYPE = 'microsoft.graph.calendar'

/** Methods of calendars themselves. */
export const calendarMethods: readonly GraphMethod[] = [
  {
    http: 'GET',
    path: 'calendars',
    scopes: READ_CALENDARS,
    options: ['select', 'filter', 'top', 'skip', 'count'],
    run: list,
  },
  { http: 'POST', path: 'calendars', scopes: WRITE_CALENDARS, run: create },
  ...CALENDAR_PATHS.flatMap((path): GraphMethod[] => [
    { http: 'GET', path, scopes: READ_CALENDARS, options: ['select', 'expand'], run: get },
    { http: 'PATCH', path, scopes: WRITE_CALENDARS, run: change },
    { http: 'DELETE', path, scopes: WRITE_CALENDARS, run: remove },
  ]),
  {
    http: 'POST',
    path: 'calendars/{calendar}/permanentDelete',
    scopes: WRITE_CALENDARS,
    needs: 'permanentDelete',
    run: remove,
  },
]

/** Colors that clients see for the named ones (learn.microsoft.com/graph/api/resources/calendar). */
const HEX: Readonly<Record<CalendarColor, string>> = {
  auto: '',
  lightBlue: '#a6d1f5',
  lightGreen: '#87d28e',
  lightOrange: '#fcab73',
  lightGray: '#c0c0c0',
  lightYellow: '#fde300',
  lightTeal: '#4fd8cd',
  lightPink: '#f08cc0',
  lightBrown: '#b69b7a',
  lightRed: '#f88c9b',
  maxColor: '',
}

type Shown = (found: FoundCalendar, call: MethodCall) => unknown

/** The properties of a calendar, in the order in which Graph writes them. */
const PROPERTIES: Readonly<Record<string, Shown>> = {
  id: ({ entry, calendar }) => (entry ?? calendar).id,
  name: ({ entry, calendar }) => (entry ?? calendar).name,
  color: ({ entry, calendar }) => (entry ?? calendar).color,
  hexColor: ({ entry, calendar }) => HEX[(entry ?? calendar).color],
  isDefaultCalendar: found => isDefault(found),
  changeKey: ({ calendar }) => calendar.changeKey,
  canShare: ({ entry }) => entry === null,
  canViewPrivateItems: ({ hidesPrivate }) => !hidesPrivate,
  canEdit: ({ canEdit }) => canEdit,
  allowedOnlineMeetingProviders: (_, call) => providersOf(call),
  defaultOnlineMeetingProvider: (_, call) => providersOf(call)[0] ?? 'unknown',
  isTallyingResponses: found => isDefault(found),
  isRemovable: found => !isDefault(found),
  owner: ({ mailbox }) => ({ name: mailbox.name, address: mailbox.email }),
}

const EXTENDED = 'singleValueExtendedProperties'
const NAVIGATIONS = [
  'calendarPermissions',
  'calendarView',
  'events',
  'multiValueExtendedProperties',
  EXTENDED,
]

const isDefault = ({ entry, calendar, mailbox }: FoundCalendar): boolean =>
  entry === null && calendar === mailbox.calendars.main

/** Organizations have Teams. */
export const providersOf = ({ owner }: Pick<MethodCall, 'owner'>): readonly 'teamsForBusiness'[] =>
  owner.organization === null ? [] : ['teamsForBusiness']

function present(call: MethodCall, found: FoundCalendar): Record<string, unknown> {
  const names = [...Object.keys(PROPERTIES), ...NAVIGATIONS]
  const select = parseSelect(call.query.options.get('select'), names, TYPE)
  const shown = (select ?? Object.keys(PROPERTIES)).flatMap((name): Array<[string, unknown]> => {
    const read = PROPERTIES[name]
    return read ? [[name, read(found, call)]] : []
  })
  return { ...Object.fromEntries(shown), ...extendedOf(call, found) }
}

/** The extended properties that an `$expand` names, unless the calendar has none of them. */
function extendedOf({ query }: MethodCall, { calendar }: FoundCalendar): Record<string, unknown> {
  const [expanded] = parseExpand(query.options.get('expand'), [EXTENDED], TYPE)
  if (!expanded) return {}
  const properties = expandedIds(expanded.options.get('filter')).flatMap(id => {
    const value = calendar.extended.get(id)
    return value === undefined ? [] : [{ id, value }]
  })
  return properties.length > 0 ? { [EXTENDED]: properties } : {}
}

function list(call: MethodCall): GraphAnswer {
  const { query, url, prefer } = call
  const { items, annotations } = pageOf(fitting(call), query, url, prefer.pageSize)
  return ok({
    '@odata.context': eventsContext(call, 'calendars'),
    ...annotations,
    value: items.map(found => present(call, found)),
  })
}

/** The calendars that fit a `$filter`, which Exchange takes of the name only. */
function fitting(call: MethodCall): FoundCalendar[] {
  const filter = call.query.options.get('filter')
  if (filter === undefined) return calendarsOf(call)
  const [, quoted] = /^\s*name\s+eq\s+'((?:[^']|'')*)'\s*$/i.exec(filter) ?? []
  if (quoted === undefined) throw badRequest('Invalid filter clause.', 'ErrorInvalidRequest')
  const name = quoted.replaceAll("''", "'").toLowerCase()
  return calendarsOf(call).filter(({ entry, calendar }) => (entry ?? calendar).name.toLowerCase() === name)
}

function get(call: MethodCall): GraphAnswer {
  return answered(call, requireCalendar(call))
}

const answered = (call: MethodCall, found: FoundCalendar): GraphAnswer =>
  ok({ '@odata.context': eventsContext(call, 'calendars/$entity'), ...present(call, found) })

function create(call: MethodCall): GraphAnswer {
  const { name, color = 'auto', extended } = fieldsIn(call.json())
  if (name === undefined) throw noName()
  requireFreeName(call, name)
  const { id } = addCalendar(call.mailbox, name, color, extended)
  const made = requireCalendar({ ...call, params: { calendar: id } })
  return created({ '@odata.context': eventsContext(call, 'calendars/$entity'), ...present(call, made) })
}

/** A shared calendar has a name and a color of its own in each list. */
function change(call: MethodCall): GraphAnswer {
  const found = requireCalendar(call)
  const { extended, ...changes } = fieldsIn(call.json())
  const one = found.entry ?? found.calendar
  if (changes.name !== undefined && changes.name.toLowerCase() !== one.name.toLowerCase())
    requireFreeName(call, changes.name)
  if (extended) markCalendar(requireWriter(found).calendar, extended)
  changeCalendar(call.mailbox, one, changes)
  return answered(call, found)
}

/** Deletes a calendar, or takes a shared one out of the list. */
function remove(call: MethodCall): GraphAnswer {
  const found = requireCalendar(call)
  if (isDefault(found))
    throw new GraphRefusal(403, 'ErrorDeleteDistinguishedFolder', 'Distinguished folders cannot be deleted.')
  if (found.entry) shareCalendar(call.mailbox, found.calendar, null)
  else removeCalendar(call.mailbox, requireWriter(found).calendar)
  return noContent
}

/** Properties that clients send back as they read them, and that Graph ignores. */
const PASSED_OVER = new Set(
  'id hexColor isDefaultCalendar changeKey canShare canViewPrivateItems canEdit allowedOnlineMeetingProviders defaultOnlineMeetingProvider isTallyingResponses isRemovable owner'.split(
    ' ',
  ),
)

const WRITTEN = new Set(['name', 'color', EXTENDED])

interface CalendarInput {
  name?: string
  color?: CalendarColor
  extended?: ReadonlyMap<string, string>
}

function fieldsIn(json: Record<string, unknown>): CalendarInput {
  const unknown = Object.keys(json).find(
    name => !name.includes('@') && !WRITTEN.has(name) && !PASSED_OVER.has(name),
  )
  if (unknown !== undefined) throw unknownProperty(unknown, 'calendar')
  const name = json['name'] === undefined ? undefined : text(json['name'], 'name').trim()
  if (name === '' || (name?.length ?? 0) > NAME_CHARACTERS_MAX) throw noName()
  return {
    ...(name !== undefined && { name }),
    ...(json['color'] !== undefined && { color: word(json['color'], 'color', COLORS) }),
    ...(json[EXTENDED] !== undefined && { extended: extendedIn(json[EXTENDED]) }),
  }
}

const noName = (): GraphRefusal =>
  badRequest('The name of the calendar is missing or too long.', 'ErrorInvalidRequest')

function requireFreeName({ mailbox }: MethodCall, name: string): void {
  const { own, shared } = mailbox.calendars
  const taken = [...own.values(), ...shared.values()].some(
    one => one.name.toLowerCase() === name.toLowerCase(),
  )
  if (taken) throw folderExists()
}
