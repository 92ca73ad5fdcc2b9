import { implement } from '@orpc/server'
import { availability } from '@waxwing/contract/calendars/availability.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { findAccountViews } from '../../../accounts/store.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Connections } from '../../../connections/connections.ts'
import { type Clock, systemClock } from '../../../kit/clock.ts'
import { openSlicedWork } from '../../../kit/sliced-work.ts'
import { requireConnectable } from '../../accounts/accounts/access.ts'
import { requireCalendars } from '../events/access.ts'
import { shownWindow, type WindowDays } from '../events/window.ts'
import { findAvailability } from './find-availability.ts'
import { presentAvailability, presentShared } from './present.ts'
import { requireQuestion } from './question.ts'

const on = implement(availability).$context<RequestContext>()

export interface AvailabilityOperationsOptions {
  connections: Connections
  days: WindowDays
  clock?: Clock
}

export function availabilityOperations({
  connections,
  days,
  clock = systemClock,
}: AvailabilityOperationsOptions) {
  const finding = { connections, inSlices: openSlicedWork() }
  return {
    find: on.find.handler(async ({ input: { params, body }, context }) => {
      const account = await requireCalendars(context, params.accountId)
      requireConnectable(account)
      const question = requireQuestion(body, shownWindow(days, clock.now()))
      const found = await findAvailability(finding, context, [account], { body, question, mode: 'all' })
      return presentAvailability(found, { range: question.range, explain: body.explain })
    }),

    findShared: on.findShared.handler(async ({ input: { body }, context }) => {
      const { accountIds, mode, ...asked } = body
      const accounts = await requireKnown(context, accountIds)
      const question = requireQuestion(asked, shownWindow(days, clock.now()))
      const found = await findAvailability(finding, context, accounts, { body: asked, question, mode })
      return presentShared(found, { range: question.range, explain: body.explain })
    }),
  }
}

/** The accounts in their order, each once. Refuses ids that name none with `unknown_account`. */
async function requireKnown(
  { db, tenantId }: RequestContext,
  accountIds: readonly string[],
): Promise<AccountView[]> {
  const ids = [...new Set(accountIds)]
  const known = await findAccountViews(
    db,
    ids.map(id => ({ tenantId, id })),
  )
  const missing = ids.filter(id => !known.has(id))
  if (missing.length > 0) refuse('unknown_account', { ids: missing })
  return ids.map(id => known.get(id)!)
}
