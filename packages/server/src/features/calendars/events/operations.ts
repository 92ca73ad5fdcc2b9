import { implement } from '@orpc/server'
import { calendarEvents } from '@waxwing/contract/calendars/calendar-events.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { CursorBinding } from '../../../database/page.ts'
import { type Clock, systemClock } from '../../../kit/clock.ts'
import { isUuid } from '../../../kit/ids.ts'
import { requireCalendar } from '../calendars/store.ts'
import { requireCalendars } from './access.ts'
import { type ByStart, findBody, findEvent, listSpans, presentSpan } from './store.ts'
import { shownWindow, type WindowDays } from './window.ts'

const on = implement(calendarEvents).$context<RequestContext>()

export interface EventOperationsOptions {
  days: WindowDays
  clock?: Clock
}

export function calendarEventOperations({ days, clock = systemClock }: EventOperationsOptions) {
  return {
    list: on.list.handler(async ({ input: { params, query }, context }) => {
      const { limit, cursor, ...filters } = query
      const account = await requireCalendars(context, params.accountId)
      if (filters.end <= filters.start) refuse('invalid_range')
      const binding = { tenantId: context.tenantId, list: `accounts/${account.id}/calendar-events`, filters }
      const position = requireStartPosition(context, cursor, binding)
      if (filters.calendarId !== undefined) await requireCalendar(context.db, account.id, filters.calendarId)
      const shown = shownWindow(days, clock.now())
      const range = {
        start: new Date(Math.max(filters.start.getTime(), shown.start.getTime())),
        end: new Date(Math.min(filters.end.getTime(), shown.end.getTime())),
        calendarId: filters.calendarId,
      }
      const { listed, hasMore } =
        range.end <= range.start
          ? { listed: [], hasMore: false }
          : await listSpans(context.db, account.id, { range, position, limit })
      const last = listed.at(-1)?.span
      const next =
        hasMore && last
          ? context.cursors.seal([last.span_start_at.toISOString(), last.span_id], binding)
          : null
      return { items: listed.flatMap(each => presentSpan(each) ?? []), nextCursor: next }
    }),

    get: on.get.handler(async ({ input: { params }, context }) => {
      const account = await requireCalendars(context, params.accountId)
      const id = params.eventId.toLowerCase()
      const from = shownWindow(days, clock.now()).start
      const found = isUuid(id) ? await findEvent(context.db, { accountId: account.id, id, from }) : null
      if (!found) return refuse('calendar_event_not_found')
      return { ...found.event, body: await findBody(context.db, found.rowId) }
    }),
  }
}

function requireStartPosition(
  { cursors }: Pick<RequestContext, 'cursors'>,
  cursor: string | undefined,
  binding: CursorBinding,
): ByStart | null {
  if (cursor === undefined) return null
  const [startAt, id] = cursors.open(cursor, binding) ?? []
  return startAt !== undefined && id !== undefined ? { startAt, id } : refuse('invalid_cursor')
}
