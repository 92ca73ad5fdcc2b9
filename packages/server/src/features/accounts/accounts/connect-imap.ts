import type { imapAccountInput } from '@waxwing/contract/accounts/account-inputs.ts'
import type { AccountSettingsOverride } from '@waxwing/contract/accounts/account-settings.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { z } from 'zod'
import { Secret } from '../../../kit/secret.ts'
import type { ChangeUnit, RequestContext } from '../../../calls/context.ts'
import { requireAccountRoom, requireBodyStorage, requirePaid } from '../plans/limits.ts'
import { findTenantPlan, lockTenantPlan } from '../../tenancy/plans/store.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { RequireStorage } from '../settings/body-storage.ts'
import { findTenantSettings } from '../../tenancy/settings/store.ts'
import type { AccountView, ImapServers } from '../../../accounts/row.ts'
import { insertNewAccount, refuseExisting } from './new-account.ts'
import { completeServers, requireEncryption, requireLogin, type SignIn } from './imap-servers.ts'
import { presentAccount } from '../../../accounts/present.ts'
import { planSettings } from './rules.ts'
import { findAccountIdByEmail } from '../../../accounts/store.ts'

type ImapAccountInput = z.infer<typeof imapAccountInput>

/** Connects an IMAP mailbox: logs in to its servers, then stores the account and announces it. */
export async function connectImapAccount(
  context: RequestContext,
  { requireStorage, ...signIn }: SignIn & { requireStorage: RequireStorage },
  input: ImapAccountInput,
): Promise<Account> {
  const { db, tenantId } = context
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

  // After every check that needs no network, since these two may take seconds.
  await requireStorage({ ...bodyStorage, field: 'settings.bodyStorage' })
  const mailbox = await logInToMailbox(context, signIn, await completeServers(signIn, input), input)

  return context.change(async unit => {
    await requireBodyStorage(unit.sql, tenantId, bodyStorage)
    const { email, displayName = null, externalRef = null } = input
    const given = { email, displayName, externalRef, override }
    return presentAccount(await recordImapAccount(unit, signIn, mailbox, given))
  })
}

/** A mailbox whose servers accepted a login, with the passwords of the login. */
export interface CheckedMailbox {
  servers: ImapServers
  password: Secret
  /** Null if it is the same. */
  smtpPassword: Secret | null
}

/** Logs in to the servers of a mailbox, or refuses. */
export async function logInToMailbox(
  context: Pick<RequestContext, 'requestId' | 'log'>,
  signIn: SignIn,
  { imap, smtp }: Pick<ImapServers, 'imap' | 'smtp'>,
  input: Pick<ImapAccountInput, 'password' | 'smtpPassword' | 'appendSent'>,
): Promise<CheckedMailbox> {
  const password = new Secret(input.password)
  // Without an SMTP server the password could not be checked, and a server that is added later would be used with it.
  const smtpPassword =
    smtp === null || input.smtpPassword === undefined ? null : new Secret(input.smtpPassword)
  await requireLogin(context, signIn, {
    imap: { server: imap, password },
    smtp: smtp && { server: smtp, password: smtpPassword ?? password },
  })
  const { appendSent } = input
  return { servers: { imap, smtp, auth: 'password', appendSent, dav: null }, password, smtpPassword }
}

/** Stores the account of a mailbox and announces it. Refuses if the tenant has it already, or can have no more. */
export async function recordImapAccount(
  unit: ChangeUnit,
  { accountKeys }: Pick<SignIn, 'accountKeys'>,
  { servers, password, smtpPassword }: CheckedMailbox,
  given: {
    email: string
    displayName: string | null
    externalRef: string | null
    override: AccountSettingsOverride
  },
): Promise<AccountView> {
  const { tenantId } = unit
  // Another request may have used the last account of the plan while we logged in.
  const plan = await lockTenantPlan(unit)
  await requirePaid(unit.sql, tenantId)
  const account = await insertNewAccount(
    unit,
    { keys: accountKeys, plan },
    {
      provider: 'imap',
      auth_method: 'password',
      email: given.email,
      display_name: given.displayName,
      external_ref: given.externalRef,
      settings_override: given.override,
      imap: servers,
    },
    () => findAccountIdByEmail(unit.sql, tenantId, given.email),
  )
  await accountKeys.storeSecret(unit.sql, account, 'imap_password', password)
  if (smtpPassword) await accountKeys.storeSecret(unit.sql, account, 'smtp_password', smtpPassword)
  return account
}

export function refuseDav(): never {
  refuse('provider_unsupported', undefined, {
    message: 'Calendars and contacts of IMAP accounts are not offered yet. Leave dav out.',
  })
}
