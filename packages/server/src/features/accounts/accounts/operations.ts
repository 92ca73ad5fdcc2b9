import { implement } from '@orpc/server'
import { accounts as contract } from '@waxwing/contract/accounts/accounts.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { requireTokenScopes } from '../../tenancy/credentials/rules.ts'
import { createAccountToken } from '../../tenancy/credentials/store.ts'
import { answerPage, requirePosition } from '../../../calls/list-cursor.ts'
import { requireBodyStorage, requireSharedModule } from '../plans/limits.ts'
import type { BodyStorageChange, RequireStorage } from '../settings/body-storage.ts'
import { refuse } from '../../../calls/refuse.ts'
import { requireGrantedHalves } from '../grants/access.ts'
import { leaveSubscriptions } from '../grants/left-subscriptions.ts'
import type { EndingKeys } from '../grants/revocation.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { requireAccount, requireAccountView, requireReachable } from './access.ts'
import { askForSync } from '../../../accounts/ask-for-sync.ts'
import { RENEWAL } from '../../../accounts/halves/wanted.ts'
import { changeImapAccount } from './change-imap.ts'
import { connectByToken, type OAuthServices } from './connect-by-token.ts'
import { connectImapAccount } from './connect-imap.ts'
import { deleteAccount } from './deletion.ts'
import type { SignIn } from './imap-servers.ts'
import { presentAccount } from '../../../accounts/present.ts'
import { effectiveSettings, enabledKinds } from '../../../accounts/settings.ts'
import { planSettings } from './rules.ts'
import { type AccountChange, listAccountViews, lockAccount, updateAccount } from '../../../accounts/store.ts'

const on = implement(contract).$context<RequestContext>()

/** Account tokens are digested with `credentialPepper`. */
export function accountOperations({
  credentialPepper,
  endingKeys,
  oauth,
  requireStorage,
  ...signIn
}: SignIn & {
  credentialPepper: Buffer
  endingKeys: EndingKeys
  oauth: OAuthServices
  requireStorage: RequireStorage
}) {
  return {
    list: on.list.handler(async ({ input: { query }, context }) => {
      const { limit, cursor, ...filters } = query
      const binding = { list: 'accounts', filters }
      const position = requirePosition(context, cursor, binding)
      const rows = await listAccountViews(context.db, context.tenantId, {
        filters: { ...filters, accountIds: context.credential.accountIds },
        position,
        limit,
      })
      return answerPage(context, rows, { limit, binding, present: presentAccount })
    }),

    connect: on.connect.handler(({ input: { body }, context }) =>
      connectByToken(context, { ...oauth, requireStorage }, body),
    ),

    get: on.get.handler(async ({ input: { params }, context }) =>
      presentAccount(await requireAccountView(context, params.accountId)),
    ),

    update: on.update.handler(async ({ input: { params, body }, context }) => {
      const account = await requireAccountView(context, params.accountId)
      await requireBodyStorage(context.db, context.tenantId, storageChange(account, body))
      await requireSharedModule(context.db, context.tenantId, body.settings)
      await requireStorage(storageChange(account, body))
      const { externalRef, status, settings, resetSettings } = body
      return context.change(async unit => {
        const before = (await lockAccount(unit, account.id)) ?? refuse('account_not_found')
        await requireBodyStorage(unit.sql, unit.tenantId, storageChange(before, body))
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
          ...(settings?.sharedMailboxesEnabled !== undefined && {
            wants_shared: settings.sharedMailboxesEnabled,
          }),
        }
        requireGrantedHalves(before, settings, change.settings_override)
        if (change.status === 'paused') await leaveSubscriptions(unit, endingKeys, before)
        unit.wake(account.id)
        return presentAccount(await updateAccount(unit, before, change))
      })
    }),

    delete: on.delete.handler(async ({ input: { params, query }, context }) => {
      const id = requireReachable(context.credential, params.accountId)
      return context.change(async unit => {
        const isKnown = await deleteAccount(unit, endingKeys, id, query)
        if (!isKnown) refuse('account_not_found')
        unit.wake(id)
        return null
      })
    }),

    sync: on.sync.handler(async ({ input: { params, body }, context }) => {
      const account = await requireAccountView(context, params.accountId)
      const enabled = enabledKinds(effectiveSettings(account.tenant_settings, account))
      const kinds = [...new Set(body.kinds ?? enabled)]
      const disabled = kinds.filter(kind => !enabled.includes(kind))
      if (disabled.length > 0) refuse('sync_kinds_disabled', { kinds: disabled })

      return context.change(async unit => {
        const retryAfterSeconds = await askForSync(unit.sql, account, { kinds, words: [RENEWAL] })
        if (retryAfterSeconds !== null) refuse('rate_limited', undefined, { retryAfterSeconds })
        unit.wake(account.id)
        return { kinds }
      })
    }),

    createToken: on.createToken.handler(async ({ input: { params, body }, context }) => {
      const account = await requireAccount(context, params.accountId)
      const scopes = requireTokenScopes(context.credential, body.scopes)
      return context.change(
        async unit => {
          const { id, text, expiresAt } = await createAccountToken(unit.sql, credentialPepper, {
            apiKeyId: context.credential.id,
            accountId: account.id,
            scopes,
            expiresAt: new Date(Date.now() + body.ttlSeconds * 1000),
          })
          context.target({ tokenId: id })
          return { token: text, expiresAt: expiresAt.toISOString() }
        },
        { scopes },
      )
    }),

    createImap: on.createImap.handler(({ input: { body }, context }) =>
      connectImapAccount(context, { ...signIn, requireStorage }, body),
    ),

    updateImapSettings: on.updateImapSettings.handler(async ({ input: { params, body }, context }) => {
      const { id } = await requireAccount(context, params.accountId)
      return changeImapAccount(context, signIn, id, body)
    }),
  }
}

/** The change that an update makes to the effective `bodyStorage` of an account, and the field that makes it. */
function storageChange(
  account: AccountView,
  { settings, resetSettings }: Parameters<typeof planSettings>[2],
): BodyStorageChange & { field: string } {
  const isReset = resetSettings?.includes('bodyStorage') ?? false
  return {
    before: effectiveSettings(account.tenant_settings, account).bodyStorage,
    after: isReset ? account.tenant_settings.bodyStorage : settings?.bodyStorage,
    field: isReset ? 'resetSettings' : 'settings.bodyStorage',
  }
}
