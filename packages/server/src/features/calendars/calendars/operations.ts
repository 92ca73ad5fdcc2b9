import { implement } from '@orpc/server'
import { calendars } from '@waxwing/contract/calendars/calendars.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { requireCalendars } from '../events/access.ts'
import { presentCalendar } from './rules.ts'
import { listCalendars } from './store.ts'

const on = implement(calendars).$context<RequestContext>()

export const calendarOperations = {
  list: on.list.handler(async ({ input: { params }, context }) => {
    const account = await requireCalendars(context, params.accountId)
    const rows = await listCalendars(context.db, account.id)
    return { items: rows.map(presentCalendar) }
  }),
}
