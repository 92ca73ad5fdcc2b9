import { implement } from '@orpc/server'
import type { ReplayedEvents } from '@waxwing/contract/notifications/webhook-deliveries.ts'
import { webhookDeliveries } from '@waxwing/contract/notifications/webhook-deliveries.ts'
import { cutPage } from '../../../database/page.ts'
import type { ChangeUnit, RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { requireEndpoint } from '../webhooks/access.ts'
import { isInLog, listAttempts, presentAttempt } from './attempts-log.ts'
import { wakeEndpoint } from './endpoint-changes.ts'
import {
  addReplays,
  type AddedReplays,
  countFailed,
  findFailed,
  isReplayable,
  matchRange,
  type Range,
  requeueGivenUp,
} from './replays.ts'

const EVENT_ID = /^[0-9]{1,18}$|^[0-8][0-9]{18}$|^9[01][0-9]{17}$/

const on = implement(webhookDeliveries).$context<RequestContext>()

export const deliveryOperations = {
  listAttempts: on.listAttempts.handler(async ({ input: { params, query }, context }) => {
    const { db, tenantId, cursors } = context
    const { limit, cursor, ...filters } = query
    requireRange({ since: query.since ?? null, until: query.until ?? null })
    const { id } = await requireEndpoint(context, db, params.endpointId)
    const binding = { tenantId, list: `webhooks/${id}/attempts`, filters }
    const [before = null] =
      cursor === undefined ? [] : (cursors.open(cursor, binding) ?? refuse('invalid_cursor'))
    if (before !== null && !(await isInLog(db, id, before))) refuse('invalid_cursor')
    const { page, hasMore } = cutPage(await listAttempts(db, id, { filters, before, limit }), limit)
    const last = page.at(-1)
    return {
      items: page.map(presentAttempt),
      nextCursor: hasMore && last ? cursors.seal([last.id], binding) : null,
    }
  }),

  replay: on.replay.handler(async ({ input: { params, body }, context }) => {
    const { db, tenantId } = context
    requireRange(body)
    const endpoint = await requireEndpoint(context, db, params.endpointId)
    if (!endpoint.isEnabled) refuse('endpoint_disabled')
    const eventIds = await matchRange(db, { ...endpoint, tenantId }, body)
    if (eventIds === 'too_large') refuse('replay_range_too_large')
    return replayEnabled(context, endpoint.id, { countsWaiting: true }, unit =>
      addReplays(unit.sql, { id: endpoint.id, tenantId }, eventIds),
    )
  }),

  replayEvent: on.replayEvent.handler(async ({ input: { params }, context }) => {
    const { db, tenantId } = context
    const { eventId } = params
    const { id } = await requireEndpoint(context, db, params.endpointId)
    if (!EVENT_ID.test(eventId) || !(await isReplayable(db, tenantId, eventId))) refuse('event_not_found')
    return replayEnabled(context, id, { countsWaiting: true }, unit =>
      addReplays(unit.sql, { id, tenantId }, [eventId]),
    )
  }),

  countFailedDeliveries: on.countFailedDeliveries.handler(async ({ input: { params, query }, context }) => {
    const { db, tenantId } = context
    const range = { since: query.since ?? null, until: query.until ?? null }
    requireRange(range)
    const { id } = await requireEndpoint(context, db, params.endpointId)
    return { count: await countFailed(db, { id, tenantId }, range) }
  }),

  replayFailed: on.replayFailed.handler(async ({ input: { params, body }, context }) => {
    const { tenantId } = context
    const range = { since: body.since ?? null, until: body.until ?? null }
    requireRange(range)
    const { id } = await requireEndpoint(context, context.db, params.endpointId)
    // A delivery that another replay has queued in the meantime no longer counts as failed.
    return replayEnabled(context, id, { countsWaiting: false }, async unit => {
      const failed = await findFailed(unit.sql, { id, tenantId }, range)
      return { added: 0, presentIds: failed === 'too_large' ? refuse('replay_range_too_large') : failed }
    })
  }),
}

function requireRange({ since, until }: Range): void {
  if (since && until && since >= until) refuse('invalid_range')
}

/**
 * Queues deliveries for an endpoint that is enabled and still is at the commit. New deliveries are added before its dispatch
 * state is locked, since the transaction that records attempts waits for that lock. That transaction may change
 * existing deliveries, so they are queued again only under the lock.
 */
function replayEnabled(
  context: RequestContext,
  id: string,
  { countsWaiting }: { countsWaiting: boolean },
  add: (unit: ChangeUnit) => Promise<AddedReplays>,
): Promise<ReplayedEvents> {
  const requireEnabled = async (unit: ChangeUnit) => {
    const { isEnabled } = await requireEndpoint(context, unit.sql, id)
    if (!isEnabled) refuse('endpoint_disabled')
  }
  return context.change(async unit => {
    await requireEnabled(unit)
    const { added, presentIds } = await add(unit)
    await wakeEndpoint(unit, id)
    await requireEnabled(unit)
    const requeued = await requeueGivenUp(unit.sql, { id, tenantId: unit.tenantId }, presentIds)
    return { queued: added + requeued, alreadyQueued: countsWaiting ? presentIds.length - requeued : 0 }
  })
}
