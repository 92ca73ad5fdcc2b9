import { implement } from '@orpc/server'
import { eventSamples } from '@waxwing/contract/event-samples.ts'
import { webhooks } from '@waxwing/contract/notifications/webhooks.ts'
import type { TargetGuard } from '../../../kit/egress/target-guard.ts'
import { newId } from '../../../kit/ids.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { findTenantPlan, lockTenantPlan } from '../../tenancy/plans/store.ts'
import { clearPauses, deleteDeliveries, queueTest } from '../deliveries/endpoint-changes.ts'
import { giveUpBefore } from '../deliveries/give-up.ts'
import { requireEndpoint, requireFilters, requireScheme, requireTarget } from './access.ts'
import { changedFilters, NO_FILTERS } from './filters.ts'
import { requireEndpointRoom } from './limits.ts'
import { presentEndpoint } from './present.ts'
import { recordChangedEndpoint, recordEndpoint, recordNewSecret, removeEndpoint } from './record.ts'
import type { WebhookKeys } from './secrets.ts'
import { findLiveAccounts, listEndpoints } from './store.ts'
import { newTestEvent } from './test-event.ts'

const on = implement(webhooks).$context<RequestContext>()

export function webhookOperations({ keys, targets }: { keys: WebhookKeys; targets: TargetGuard }) {
  return {
    list: on.list.handler(async ({ context }) => {
      const rows = await listEndpoints(context.db, context.tenantId)
      return { items: rows.map(presentEndpoint) }
    }),

    create: on.create.handler(async ({ input: { body }, context }) => {
      const { db, tenantId, log } = context
      const filters = changedFilters(NO_FILTERS, body.filters)
      requireScheme(targets, body.url)
      await requireEndpointRoom(db, tenantId, await findTenantPlan(db, tenantId))
      await requireFilters(db, tenantId, NO_FILTERS, filters)
      await requireTarget({ targets, log }, body.url)
      return context.change(async unit => {
        await requireEndpointRoom(unit.sql, tenantId, await lockTenantPlan(unit))
        const id = newId()
        context.target({ endpointId: id })
        const secret = keys.create({ id, tenantId })
        const { url, description = null } = body
        const row = await recordEndpoint(unit, { id, url, description, filters, sealedSecret: secret.sealed })
        return { endpoint: presentEndpoint(row), secret: secret.text.reveal() }
      })
    }),

    update: on.update.handler(async ({ input: { params, body }, context }) => {
      const { db, tenantId, log } = context
      const found = await requireEndpoint(context, db, params.endpointId)
      await requireFilters(db, tenantId, found.filters, changedFilters(found.filters, body.filters))
      if (body.url !== undefined) await requireTarget({ targets, log }, body.url)
      return context.change(async unit => {
        const before = await requireEndpoint(unit, unit.sql, found.id, { lock: true })
        const filters = changedFilters(before.filters, body.filters)
        await requireFilters(unit.sql, tenantId, before.filters, filters)
        const after = {
          url: body.url ?? before.url,
          description: body.description === undefined ? before.description : body.description,
          filters,
          isEnabled: body.isEnabled ?? before.isEnabled,
          isCleared: body.isEnabled === true || (body.url ?? before.url) !== before.url,
        }
        const row = await recordChangedEndpoint(unit, before, after)
        if (before.isEnabled && !after.isEnabled) await giveUpBefore(unit.sql, row.id)
        if (after.isCleared) await clearPauses(unit, row.id)
        // Deliveries that a dispatcher has claimed ahead are not posted to an endpoint that changed.
        else unit.wake(row.id, 'waxwing_webhook')
        return presentEndpoint(row)
      })
    }),

    delete: on.delete.handler(async ({ input: { params }, context }) => {
      const { id } = await requireEndpoint(context, context.db, params.endpointId)
      return context.change(async unit => {
        await removeEndpoint(unit, id)
        await deleteDeliveries(unit, id)
        return null
      })
    }),

    rotateSecret: on.rotateSecret.handler(async ({ input: { params, body }, context }) => {
      const { tenantId } = context
      const { id } = await requireEndpoint(context, context.db, params.endpointId)
      return context.change(async unit => {
        const secret = keys.create({ id, tenantId })
        const { graceSeconds } = body
        const row = await recordNewSecret(unit, id, { sealedSecret: secret.sealed, graceSeconds })
        unit.wake(id, 'waxwing_webhook')
        const { previousSecretExpiresAt } = presentEndpoint(row)
        return { secret: secret.text.reveal(), previousSecretExpiresAt }
      })
    }),

    test: on.test.handler(async ({ input: { params, body }, context }) => {
      const { eventType: type, accountId = null } = body
      const data = body.data ?? eventSamples[type]
      const { id: endpointId } = await requireEndpoint(context, context.db, params.endpointId)
      return context.change(async unit => {
        const { isEnabled } = await requireEndpoint(unit, unit.sql, endpointId, { lock: true })
        if (
          accountId !== null &&
          !(await findLiveAccounts(unit.sql, unit.tenantId, [accountId])).has(accountId)
        ) {
          refuse('unknown_account', { ids: [accountId] })
        }
        if (!isEnabled) refuse('endpoint_disabled')
        const event = await newTestEvent(unit, { type, accountId, data })
        context.target({ eventId: event.id })
        await queueTest(unit, { endpointId, event })
        return { eventId: event.id }
      })
    }),
  }
}
