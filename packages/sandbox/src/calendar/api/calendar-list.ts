import { booleanIn, wordIn } from '../../google/api/input.ts'
import {
  isAtLeast,
  type ListEntry,
  recordEntry,
  type Role,
  roleIn,
  ROLES,
  subscribe,
} from '../store/calendars.ts'
import { type CalendarMethod, type MethodCall, requireCalendar, scopes } from './method.ts'
import { pageOf, sincePlace } from './pages.ts'
import { entryEtag, presentEntry } from './present.ts'
import { badRequest, conditionNotMet, invalid, notFound } from './refusals.ts'
import { SHAPES } from './shapes.ts'

const PATH = 'users/me/calendarList'
const ENTRY_PATH = `${PATH}/{calendarId}`
const SIZES = { standard: 100, max: 250 }
const COLOR = /^#[0-9a-f]{6}$/i

export const LIST_READERS = scopes('* calendarlist calendarlist.readonly readonly')
export const LIST_QUERY =
  'maxResults minAccessRole pageToken showDeleted showHidden showOwnOrganizationOnly syncToken'.split(' ')

export const calendarListMethods: readonly CalendarMethod[] = [
  {
    id: 'calendarList.list',
    http: 'GET',
    path: PATH,
    scopes: LIST_READERS,
    query: LIST_QUERY,
    answer: SHAPES.entries,
    run: list,
  },
  {
    id: 'calendarList.get',
    http: 'GET',
    path: ENTRY_PATH,
    scopes: scopes('* app.created calendarlist calendarlist.readonly readonly'),
    answer: SHAPES.entry,
    run: call => present(call, requireEntry(call)),
  },
  {
    id: 'calendarList.insert',
    http: 'POST',
    path: PATH,
    scopes: scopes('* calendarlist'),
    query: ['colorRgbFormat'],
    body: SHAPES.entry,
    answer: SHAPES.entry,
    run(call) {
      const { id } = call.body
      if (typeof id !== 'string') throw invalid('Invalid resource id value.')
      const { calendar } = requireCalendar(call, 'freeBusyReader', id)
      return present(call, subscribe(call.parts.store, call.list, calendar, fieldsIn(call, {})))
    },
  },
  {
    id: 'calendarList.patch',
    http: 'PATCH',
    path: ENTRY_PATH,
    scopes: scopes('* app.created calendarlist'),
    query: ['colorRgbFormat'],
    body: SHAPES.entry,
    answer: SHAPES.entry,
    run(call) {
      const entry = requireEntry(call)
      const match = call.headers.get('if-match')
      if (match !== null && match !== '*' && match !== entryEtag(entry)) throw conditionNotMet()
      const fields = fieldsIn(call, entry.fields)
      return present(call, recordEntry(call.parts.store, call.list, { ...entry, fields }))
    },
  },
  {
    id: 'calendarList.delete',
    http: 'DELETE',
    path: ENTRY_PATH,
    scopes: scopes('* app.created calendarlist'),
    run(call): undefined {
      const entry = requireEntry(call)
      if (entry.calendarId === call.list.email)
        throw badRequest('cannotUnsubscribePrimaryCalendar', 'The primary calendar cannot be removed.')
      recordEntry(call.parts.store, call.list, { ...entry, deleted: true })
    },
  },
]

function requireEntry({ list: { entries, email }, params: { calendarId: id = '' } }: MethodCall): ListEntry {
  const entry = entries.get(id === 'primary' ? email : id)
  if (!entry || entry.deleted) throw notFound()
  return entry
}

function roleOf({ parts: { store }, list: { email } }: MethodCall, { calendarId }: ListEntry): Role | null {
  const calendar = store.calendars.get(calendarId)
  return calendar ? roleIn(store, calendar, email) : null
}

const present = (call: MethodCall, entry: ListEntry): object =>
  presentEntry(entry, call.parts.store.calendars.get(entry.calendarId), roleOf(call, entry))

const SETTABLE =
  'colorId defaultReminders hidden notificationSettings selected summaryOverride backgroundColor foregroundColor'.split(
    ' ',
  )

function fieldsIn({ body, query }: MethodCall, before: ListEntry['fields']): ListEntry['fields'] {
  const isRgb = booleanIn(query, 'colorRgbFormat')
  const fields: Record<string, unknown> = { ...before }
  for (const name of SETTABLE) {
    const value = body[name]
    const isColor = name === 'backgroundColor' || name === 'foregroundColor'
    if (value === undefined || (isColor && !isRgb)) continue
    if (isColor && (typeof value !== 'string' || !COLOR.test(value))) throw invalid('Invalid color.')
    if (value === null) delete fields[name]
    else fields[name] = value
  }
  return fields
}

/** Lists the calendars of a user, or what has changed since a sync token, hidden and deleted ones among it. */
function list(call: MethodCall): object {
  const { query, list: source } = call
  const least = query.has('minAccessRole') ? wordIn(query, 'minAccessRole', ROLES, 'freeBusyReader') : null
  if (query.has('syncToken') && least)
    throw badRequest(
      'syncTokenWithRequestRestrictions',
      'Sync token cannot be used with other request restrictions.',
      'syncToken',
    )
  const paging = {
    parameters: JSON.stringify(['list', source.email, query.get('maxResults')]),
    source,
    isSync: least === null,
    sizes: SIZES,
  }
  const since = sincePlace(call, paging)
  const wanted = [...source.entries.values()].filter(entry => {
    if (since) return entry.change > since.change
    const isHidden = entry.fields['hidden'] === true
    return (
      ((!entry.deleted && roleOf(call, entry) !== null) || booleanIn(query, 'showDeleted')) &&
      (!isHidden || booleanIn(query, 'showHidden')) &&
      (least === null || isAtLeast(roleOf(call, entry), least))
    )
  })
  const keyed = wanted.map(entry => ({ entry, key: String(entry.change).padStart(12, '0') }))
  const { items, tokens } = pageOf(call, paging, keyed)
  return {
    kind: 'calendar#calendarList',
    etag: `"p${source.change}"`,
    ...tokens,
    items: items.map(({ entry }) => present(call, entry)),
  }
}
