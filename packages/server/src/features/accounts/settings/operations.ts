import { settings as contract } from '@waxwing/contract/accounts/settings.ts'
import { implement } from '@orpc/server'
import { requireClicksForHoneypot } from '../accounts/rules.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { requireBodyStorage } from '../plans/limits.ts'
import type { RequireStorage } from './body-storage.ts'
import { inheritSettings } from './inherit.ts'
import { findTenantSettings, lockTenantSettings, updateTenantSettings } from '../../tenancy/settings/store.ts'

const on = implement(contract).$context<RequestContext>()

export function settingOperations(requireStorage: RequireStorage) {
  return {
    get: on.get.handler(({ context }) => findTenantSettings(context.db, context.tenantId)),

    update: on.update.handler(async ({ input: { body }, context }) => {
      const { bodyStorage } = await findTenantSettings(context.db, context.tenantId)
      const change = { before: bodyStorage, after: body.bodyStorage }
      await requireBodyStorage(context.db, context.tenantId, change)
      await requireStorage({ ...change, field: 'bodyStorage' })
      return context.change(async unit => {
        const before = await lockTenantSettings(unit)
        await requireBodyStorage(unit.sql, unit.tenantId, {
          before: before.bodyStorage,
          after: body.bodyStorage,
        })
        const after = {
          ...before,
          ...body,
          mcpSendPolicy: { ...before.mcpSendPolicy, ...body.mcpSendPolicy },
        }
        if (body.trackingHoneypot !== undefined || body.trackClicks !== undefined)
          requireClicksForHoneypot(after)
        await updateTenantSettings(unit, after)
        for (const accountId of await inheritSettings(unit, before, after)) unit.wake(accountId)
        return after
      })
    }),
  }
}
