import type { AccountView } from '../../../accounts/row.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Clock } from '../../../kit/clock.ts'
import { isUuid } from '../../../kit/ids.ts'
import type { ItemPlace, WriteOptions } from '../../../providers/changing-calendars.ts'
import { findCalendarFacts } from '../calendars/record-account.ts'
import { unzonedOf } from '../calendars/rules.ts'
import { type IndexedCalendar, listCalendars } from '../calendars/store.ts'
import { requireCalendars } from '../events/access.ts'
import { type EventTarget, findTarget } from '../events/find-target.ts'
import type { SpanPlanner } from '../events/planner.ts'
import { keptWindow, shownWindow, type WindowDays } from '../events/window.ts'
import type { WriteMails } from './mails.ts'
import type { PlanOptions } from './plan-event.ts'

/** How events are written. */
export interface Writing {
  days: WindowDays
  planner: SpanPlanner
  clock: Clock
  /** Absent: nobody is told of anything by mail. */
  mails?: WriteMails
}

/** The account of the path, with what its writes need of it. */
export interface WritingAccount {
  account: AccountView
  calendars: readonly IndexedCalendar[]
  own: ReadonlySet<string>
  planFor(calendar: IndexedCalendar): PlanOptions
  optionsFor(whom: Pick<WriteOptions, 'notify' | 'concernsOthers'>): WriteOptions
}

export async function requireWriting(
  context: RequestContext,
  accountId: string,
  { days, planner, clock }: Writing,
): Promise<WritingAccount> {
  const account = await requireCalendars(context, accountId)
  const calendars = await listCalendars(context.db, account.id)
  const { own, self } = await findCalendarFacts(context.db, account.id)
  const window = keptWindow(days, clock.now())
  return {
    account,
    calendars,
    own,
    planFor: calendar => ({
      own,
      window,
      unzoned: unzonedOf(calendar, calendars),
      expand: expansion => planner.expand(account.id, expansion),
    }),
    optionsFor: whom => ({ self, own, ...whom, window }),
  }
}

/** The calendar that a body names. */
export function requireNamed({ calendars }: WritingAccount, id: string): IndexedCalendar {
  return calendars.find(calendar => calendar.id === id) ?? refuse('unknown_calendar')
}

export function requireEditable({ can_edit: canEdit }: IndexedCalendar): void {
  if (!canEdit) refuse('calendar_read_only')
}

/** An event that is to be changed, and its place. */
export interface FoundTarget {
  writing: WritingAccount
  target: EventTarget
  calendar: IndexedCalendar
  place: ItemPlace
}

/** The event of the path. A malformed id is refused like one that never existed. */
export async function requireTarget(
  context: RequestContext,
  params: { accountId: string; eventId: string },
  options: Writing,
): Promise<FoundTarget> {
  const writing = await requireWriting(context, params.accountId, options)
  const id = params.eventId.toLowerCase()
  const from = shownWindow(options.days, options.clock.now()).start
  const target = isUuid(id) ? await findTarget(context.db, { accountId: writing.account.id, id, from }) : null
  const calendar = writing.calendars.find(one => one.id === target?.root.calendar_id)
  if (!target || !calendar || target.root.provider_key === null) return refuse('calendar_event_not_found')
  const place = { calendarKey: calendar.provider_key, key: target.root.provider_key }
  return { writing, target, calendar, place }
}
