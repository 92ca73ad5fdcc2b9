import { changesAfter } from '../../mailbox/change-log.ts'
import type { Calendar, EventChange, StoredEvent } from '../../mailbox/event.ts'
import type { Mailbox } from '../../mailbox/mailbox.ts'
import {
  byStart,
  type CalendarEvent,
  occurrencesIn,
  type Span,
  wholeEvent,
} from '../../mailbox/occurrences.ts'
import { deltaLink, type DeltaState, gone, stateOf } from '../delta-tokens.ts'
import { badRequest } from '../errors.ts'
import { repeated } from '../item-changes.ts'
import { type GraphAnswer, type GraphMethod, type MethodCall, ok, READ_CALENDARS } from '../method.ts'
import { contextOf } from '../odata/paging.ts'
import type { GraphSettings } from '../settings.ts'
import { type EventView, idOf, presentEvent, presentStub } from './event-shape.ts'
import { spanIn } from './event-times.ts'
import { type FoundCalendar, requireCalendar, viewIn, VIEW_PATHS } from './find.ts'

const PAGE_DEFAULT = 10
const PAGE_MAX = 1_000
const TYPE = '#microsoft.graph.event'

/** The delta query of the events that take place in a time, which the links carry. */
export const eventDeltaMethods: readonly GraphMethod[] = VIEW_PATHS.map(path => ({
  http: 'GET',
  path: `${path}/delta`,
  scopes: READ_CALENDARS,
  options: ['skiptoken', 'deltatoken'],
  run: delta,
}))

/** `removed` names an event that the time has no longer. */
interface Row {
  readonly kind: 'whole' | 'stub' | 'removed'
  readonly event: CalendarEvent
}

/** A round of a query, which reports the changes after one number up to another one. */
interface Round {
  /** -1 for the first round, which reports everything. */
  readonly after: number
  readonly upTo: number
  /** Number of rows that earlier pages had. */
  readonly told: number
}

function delta(given: MethodCall): GraphAnswer {
  const found = requireCalendar(given)
  const { mailbox, calendar } = found
  requireDelta(given, found)
  const call = { ...given, mailbox }
  const isBegun = ['skiptoken', 'deltatoken'].some(name => given.query.options.has(name as 'skiptoken'))
  const state = stateOf(call, `view of ${calendar.id}`, isBegun ? null : spanIn(given.query.parameters))
  const span = state.window ?? spanIn(given.query.parameters)
  const round = roundOf(state, mailbox)
  const rows = rowsOf({ calendar, mailbox, span, settings: given.graph.settings }, round)
  if (rows === null) throw gone(mailbox, state)
  const size = Math.min(given.prefer.pageSize ?? PAGE_DEFAULT, PAGE_MAX)
  const told = round.told + size
  const walk = { at: round.after, number: round.upTo, told }
  const link =
    told < rows.length
      ? deltaLink(mailbox, given.url, 'next', { ...state, walk })
      : deltaLink(mailbox, given.url, 'delta', { ...state, since: round.upTo, walk: null })
  const view = viewIn(given, found)
  const value = rows.slice(round.told, told).map(row => present(row, view, given.graph.settings))
  return ok({
    '@odata.context': contextOf(given.url, 'Collection(event)'),
    ...link,
    value: repeated(given, value),
  })
}

/** The page that describes the delta names the default calendar alone; others answer by the settings of the sandbox. */
function requireDelta({ graph }: MethodCall, { calendar, mailbox }: FoundCalendar): void {
  const { calendarDeltas: which } = graph.settings
  if (which === 'none' || (which === 'default' && calendar !== mailbox.calendars.main))
    throw badRequest('Change tracking is not supported against this calendar.', 'ErrorInvalidRequest')
}

/** A query begins with all events as they are now; a later round begins where the one before it ended. */
function roundOf({ walk, since }: Pick<DeltaState, 'walk' | 'since'>, mailbox: Mailbox): Round {
  if (walk === null) return { after: since, upTo: mailbox.lastChange, told: 0 }
  if (walk.number === Number.MAX_SAFE_INTEGER) return { after: -1, upTo: since, told: 0 }
  return { after: walk.at, upTo: walk.number, told: walk.told }
}

interface Viewed {
  readonly calendar: Calendar
  readonly mailbox: Mailbox
  readonly span: Span
  readonly settings: GraphSettings
}

/** The rows of a round, which stay the same though events change meanwhile; null if the log has forgotten its changes. */
function rowsOf(viewed: Viewed, { after, upTo }: Round): Row[] | null {
  const changes = changesAfter(viewed.calendar.log, after < 0 ? upTo : after)
  if (changes === null) return null
  if (after < 0)
    return eventsBefore(viewed.calendar, changes).flatMap(event =>
      rowsOfEvent(viewed, { before: null, after: event, days: null }),
    )
  return folded(changes.filter(({ number }) => number <= upTo)).flatMap(change => rowsOfEvent(viewed, change))
}

/** The events of a calendar as they were before these changes. */
function eventsBefore({ events }: Calendar, changes: readonly EventChange[]): StoredEvent[] {
  const then = new Map(events)
  for (const { before, after } of changes.toReversed()) {
    if (before) then.set(before.number, before)
    else if (after) then.delete(after.number)
  }
  return [...then.values()].toSorted((a, b) => a.number - b.number)
}

/** All changes of one event; `days` are the occurrences that changed, null for the whole event. */
interface FoldedChange extends Pick<EventChange, 'before' | 'after'> {
  readonly days: ReadonlySet<number> | null
}

/** Merges the changes of each event into one, in the order of their last changes. */
function folded(changes: readonly EventChange[]): FoldedChange[] {
  const byEvent = new Map<number, FoldedChange>()
  for (const { before, after, day } of changes) {
    const number = (after ?? before)?.number ?? 0
    const known = byEvent.get(number)
    const isOfDay = day !== null && known?.days !== null
    byEvent.delete(number)
    byEvent.set(number, {
      before: known ? known.before : before,
      after,
      days: isOfDay ? new Set([...(known?.days ?? []), day]) : null,
    })
  }
  return [...byEvent.values()]
}

function rowsOfEvent({ mailbox, span, settings }: Viewed, { before, after, days }: FoldedChange): Row[] {
  const shown = (event: StoredEvent | null) =>
    new Map((event ? occurrencesIn(mailbox, event, span) : []).map(one => [one.immutableId, one]))
  const [old, now] = [shown(before), shown(after)]
  const isChanged = (one: CalendarEvent) =>
    days === null || !old.has(one.immutableId) || (one.day !== null && days.has(one.day))
  const rows: Row[] = [
    ...[...old.values()]
      .filter(one => !now.has(one.immutableId))
      .map(event => ({ kind: 'removed', event }) as const),
    ...[...now.values()]
      .filter(isChanged)
      .toSorted(byStart)
      .map(event => ({ kind: event.type === 'occurrence' ? 'stub' : 'whole', event }) as const),
  ]
  const master =
    settings.seriesMasters === 'told' && days === null ? masterRow({ before, after }, now.size) : null
  return master ? [master, ...rows] : rows
}

function masterRow(
  { before, after }: Pick<FoldedChange, 'before' | 'after'>,
  occurrences: number,
): Row | null {
  if (after?.recurrence && occurrences > 0) return { kind: 'whole', event: wholeEvent(after) }
  if (before?.recurrence && !after) return { kind: 'removed', event: wholeEvent(before) }
  return null
}

/** Items of a delta name their type even if it is the usual one. */
function present({ kind, event }: Row, view: EventView, { leavers }: GraphSettings): object {
  if (kind === 'removed') {
    const id = idOf(event, view)
    return { '@odata.type': TYPE, id, ...(leavers === 'removed' && { '@removed': { reason: 'deleted' } }) }
  }
  return { '@odata.type': TYPE, ...(kind === 'stub' ? presentStub(event, view) : presentEvent(event, view)) }
}
