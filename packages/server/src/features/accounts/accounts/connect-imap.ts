import type { Account, imapAccountInput } from '@waxwing/contract/accounts/accounts.ts'
import type { z } from 'zod'
import { newId } from '../../../kit/ids.ts'
import { Secret } from '../../../kit/secret.ts'
import type { RequestContext } from '../../context.ts'
import { requireAccountRoom, requireBodyStorage, requirePaid } from '../plans/limits.ts'
import { findTenantPlan, lockTenantPlan } from '../../tenancy/plans/store.ts'
import { refuse } from '../../refuse.ts'
import { findTenantSettings } from '../../tenancy/settings/store.ts'
import type { ImapServers } from './account.ts'
import { completeServers, requireEncryption, requireLogin, type SignIn } from './imap-servers.ts'
import { presentAccount } from './present.ts'
import { planSettings } from './rules.ts'
import { findAccountIdByEmail, insertImapAccount } from './store.ts'

type ImapAccountInput = z.infer<typeof imapAccountInput>

/** Connects an IMAP mailbox: logs in to its servers, then stores the account and announces it. */
export async function connectImapAccount(
  context: RequestContext,
  signIn: SignIn,
  input: ImapAccountInput,
): Promise<Account> {
  const { db, tenantId } = context
  const { accountKeys } = signIn
  if (input.dav) refuseDav()
  requireEncryption(signIn, input.imap, input.smtp)
  await requirePaid(db, tenantId)
  const inherited = await findTenantSettings(db, tenantId)
  const bodyStorage = { before: inherited.bodyStorage, after: input.settings?.bodyStorage }
  await requireBodyStorage(db, tenantId, bodyStorage)
  await requireAccountRoom(db, tenantId, await findTenantPlan(db, tenantId))
  const override = planSettings(
    inherited,
    { provider: 'imap', imap: null, settings_override: {} },
    { settings: input.settings },
  )
  const existing = await findAccountIdByEmail(db, tenantId, input.email)
  if (existing) refuseExisting(existing)

  // After every check that needs no network, since a search may take seconds.
  const servers: ImapServers = {
    ...(await completeServers(signIn, input)),
    auth: 'password',
    appendSent: input.appendSent,
    dav: null,
  }
  const password = new Secret(input.password)
  // Without an SMTP server the password could not be checked, and a server that is added later would be used with it.
  const smtpPassword =
    servers.smtp === null || input.smtpPassword === undefined ? null : new Secret(input.smtpPassword)
  await requireLogin(context, signIn, {
    imap: { server: servers.imap, password },
    smtp: servers.smtp && { server: servers.smtp, password: smtpPassword ?? password },
  })

  return context.change(async unit => {
    // Another request may have used the last account of the plan while we logged in.
    const planNow = await lockTenantPlan(unit)
    await requirePaid(unit.sql, tenantId)
    await requireBodyStorage(unit.sql, tenantId, bodyStorage)
    await requireAccountRoom(unit.sql, tenantId, planNow)
    const id = newId()
    const account = await insertImapAccount(unit, {
      id,
      email: input.email,
      display_name: input.displayName ?? null,
      external_ref: input.externalRef ?? null,
      settings_override: override,
      imap: servers,
      data_key: await accountKeys.createDataKey(unit.sql, { id, tenant_id: tenantId }),
    })
    if (!account) refuseExisting(await findAccountIdByEmail(unit.sql, tenantId, input.email))
    await accountKeys.storeSecret(unit.sql, account, 'imap_password', password)
    if (smtpPassword) await accountKeys.storeSecret(unit.sql, account, 'smtp_password', smtpPassword)
    const { email, provider, cloud, external_ref: externalRef } = account
    unit.announce({
      type: 'account.connected',
      accountId: id,
      data: { email, provider, cloud, externalRef, reauthorized: false },
    })
    unit.wake(id)
    return presentAccount(account)
  })
}

export function refuseDav(): never {
  refuse('provider_unsupported', undefined, {
    message: 'Calendars and contacts of IMAP accounts are not offered yet. Leave dav out.',
  })
}

function refuseExisting(id: string | null): never {
  // There is none if it was deleted at this very moment.
  const message = `The mailbox is account ${id} already. Use that one, or delete it first.`
  refuse('account_exists', undefined, id === null ? {} : { message })
}
