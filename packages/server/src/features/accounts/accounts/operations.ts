import { implement } from '@orpc/server'
import { accounts as contract } from '@waxwing/contract/accounts/accounts.ts'
import { cutPage } from '../../../database/page.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import type { RequestContext } from '../../context.ts'
import { requireTokenScopes } from '../../tenancy/credentials/rules.ts'
import { createAccountToken } from '../../tenancy/credentials/store.ts'
import { requirePosition, sealPosition } from '../../list-cursor.ts'
import { requireBodyStorage } from '../plans/access.ts'
import { refuse } from '../../refuse.ts'
import { requireAccount, requireAccountView, requireReachable } from './access.ts'
import { askForSync } from './ask-for-sync.ts'
import { changeImapAccount } from './change-imap.ts'
import { connectImapAccount } from './connect-imap.ts'
import { deleteAccount } from './deletion.ts'
import { presentAccount } from './present.ts'
import { effectiveSettings, enabledKinds, planSettings } from './rules.ts'
import { type AccountChange, listAccountViews, lockAccount, updateAccount } from './store.ts'

const on = implement(contract).$context<RequestContext>()

export const accountOperations = {
  list: on.list.handler(async ({ input: { query }, context }) => {
    const { limit, cursor, ...filters } = query
    const binding = { list: 'accounts', filters }
    const position = requirePosition(context, cursor, binding)
    const rows = await listAccountViews(context.db, context.tenantId, {
      filters: { ...filters, accountIds: context.credential.accountIds },
      position,
      limit,
    })
    const { page, hasMore } = cutPage(rows, limit)
    const last = page.at(-1)
    const nextCursor =
      hasMore && last
        ? sealPosition(context, { time: last.created_at.toISOString(), id: last.id }, binding)
        : null
    return { items: page.map(presentAccount), nextCursor }
  }),

  get: on.get.handler(async ({ input: { params }, context }) =>
    presentAccount(await requireAccountView(context, params.accountId)),
  ),

  update: on.update.handler(async ({ input: { params, body }, context }) => {
    const { id } = await requireAccount(context, params.accountId)
    const account = await inTransaction(context.db, context.tenantId, async unit => {
      const before = (await lockAccount(unit, id)) ?? refuse('account_not_found')
      const { externalRef, status, settings, resetSettings } = body
      const inherited = resetSettings?.includes('bodyStorage')
        ? before.tenant_settings.bodyStorage
        : undefined
      await requireBodyStorage(unit.sql, unit.tenantId, {
        before: effectiveSettings(before.tenant_settings, before).bodyStorage,
        after: settings?.bodyStorage ?? inherited,
      })
      if (status && before.status === 'reauth_required') refuse('account_reauth_required')
      if (status && before.status === 'disabled') refuse('account_disabled')
      const change: AccountChange = {
        ...(externalRef !== undefined && { external_ref: externalRef }),
        ...(status &&
          status !== before.status && {
            status,
            status_reason: status === 'paused' ? 'paused_by_user' : null,
          }),
        ...((settings || resetSettings) && {
          settings_override: planSettings(before.tenant_settings, before, { settings, resetSettings }),
        }),
      }
      return updateAccount(unit, before, change)
    })
    context.services.wake(id)
    return presentAccount(account)
  }),

  delete: on.delete.handler(async ({ input: { params, query }, context }) => {
    const id = requireReachable(context.credential, params.accountId)
    const isKnown = await inTransaction(context.db, context.tenantId, unit => deleteAccount(unit, id, query))
    if (!isKnown) refuse('account_not_found')
    context.services.wake(id)
    return null
  }),

  sync: on.sync.handler(async ({ input: { params, body }, context }) => {
    const account = await requireAccountView(context, params.accountId)
    const enabled = enabledKinds(effectiveSettings(account.tenant_settings, account))
    const kinds = [...new Set(body.kinds ?? enabled)]
    const disabled = kinds.filter(kind => !enabled.includes(kind))
    if (disabled.length > 0) refuse('sync_kinds_disabled', { kinds: disabled })

    const retryAfterSeconds = await askForSync(context.db, account, kinds)
    if (retryAfterSeconds !== null) refuse('rate_limited', undefined, { retryAfterSeconds })
    context.services.wake(account.id)
    return { kinds }
  }),

  createToken: on.createToken.handler(async ({ input: { params, body }, context }) => {
    const account = await requireAccount(context, params.accountId)
    const scopes = requireTokenScopes(context.credential, body.scopes)
    return context.db.transaction().execute(async tx => {
      const { text, expiresAt } = await createAccountToken(tx, context.services.credentialPepper, {
        apiKeyId: context.credential.id,
        accountId: account.id,
        scopes,
        expiresAt: new Date(Date.now() + body.ttlSeconds * 1000),
      })
      const answer = { token: text, expiresAt: expiresAt.toISOString() }
      await context.keepAnswer(tx, answer, scopes)
      return answer
    })
  }),

  createImap: on.createImap.handler(async ({ input: { body }, context }) => {
    const account = await connectImapAccount(context, body)
    context.services.wake(account.id)
    return presentAccount(account)
  }),

  updateImapSettings: on.updateImapSettings.handler(async ({ input: { params, body }, context }) => {
    const { id } = await requireAccount(context, params.accountId)
    const changed = await changeImapAccount(context, id, body)
    context.services.wake(id)
    return presentAccount(changed)
  }),
}
