import type { imapAccountInput } from '@waxwing/contract/accounts/account-inputs.ts'
import type { AccountSettingsOverride } from '@waxwing/contract/accounts/account-settings.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { z } from 'zod'
import { Secret } from '../../../kit/secret.ts'
import type { ChangeUnit, RequestContext } from '../../../calls/context.ts'
import { requireAccountRoom, requireBodyStorage, requirePaid } from '../plans/limits.ts'
import { findTenantPlan, lockTenantPlan } from '../../tenancy/plans/store.ts'
import type { RequireStorage } from '../settings/body-storage.ts'
import { findTenantSettings } from '../../tenancy/settings/store.ts'
import type { AccountView, ImapServers } from '../../../accounts/row.ts'
import { insertNewAccount, refuseExisting } from './new-account.ts'
import { type DavPlan, DAV_HALVES, planDav, withFoundHalves } from './dav-plan.ts'
import { requireDav } from './dav-servers.ts'
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
  const dav = planNewDav(signIn, input)
  requireEncryption(signIn, input.imap, input.smtp)
  await requirePaid(db, tenantId)
  const inherited = await findTenantSettings(db, tenantId)
  const bodyStorage = { before: inherited.bodyStorage, after: input.settings?.bodyStorage }
  await requireBodyStorage(db, tenantId, bodyStorage)
  await requireAccountRoom(db, tenantId, await findTenantPlan(db, tenantId))
  const overrideWith = (imap: Pick<ImapServers, 'dav'>) =>
    planSettings(inherited, { provider: 'imap', imap, settings_override: {} }, { settings: input.settings })
  overrideWith({ dav: wantedDav(dav) })
  const existing = await findAccountIdByEmail(db, tenantId, input.email)
  if (existing) refuseExisting(existing)

  // After every check that needs no network, since these two may take seconds.
  await requireStorage({ ...bodyStorage, field: 'settings.bodyStorage' })
  const mailbox = await logInToMailbox(context, signIn, await completeServers(signIn, input), {
    ...input,
    dav,
  })

  return context.change(async unit => {
    await requireBodyStorage(unit.sql, tenantId, bodyStorage)
    const { email, displayName = null, externalRef = null } = input
    const override = overrideWith(mailbox.servers)
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
  /** Null if it is the same, or there is no DAV server. */
  davPassword: Secret | null
}

/** The DAV settings of a mailbox that is to be connected; null if it has none. */
export function planNewDav(
  { allowPlaintext }: Pick<SignIn, 'allowPlaintext'>,
  { dav }: Pick<ImapAccountInput, 'dav'>,
): DavPlan | null {
  if (!dav) return null
  return planDav(dav, { current: null, isOauth: false, allowPlaintext })
}

/** The settings of a plan as if every half that it wants were found. */
function wantedDav(plan: DavPlan | null): ImapServers['dav'] {
  if (!plan) return null
  const [calendarUrl = null, contactsUrl = null] = DAV_HALVES.map(([, name]) =>
    plan.urls[name] === undefined ? '' : plan.urls[name],
  )
  return { calendarUrl, contactsUrl, user: plan.user ?? '', auth: plan.auth }
}

/** Logs in to the servers of a mailbox, or refuses. */
export async function logInToMailbox(
  context: Pick<RequestContext, 'requestId' | 'log'>,
  signIn: SignIn,
  { imap, smtp }: Pick<ImapServers, 'imap' | 'smtp'>,
  input: Pick<ImapAccountInput, 'email' | 'password' | 'smtpPassword' | 'appendSent'> & {
    dav: DavPlan | null
  },
): Promise<CheckedMailbox> {
  const password = new Secret(input.password)
  // Without an SMTP server the password could not be checked, and a server that is added later would be used with it.
  const smtpPassword =
    smtp === null || input.smtpPassword === undefined ? null : new Secret(input.smtpPassword)
  await requireLogin(context, signIn, {
    imap: { server: imap, password },
    smtp: smtp && { server: smtp, password: smtpPassword ?? password },
  })
  const { appendSent, email, dav: plan } = input
  const login = plan && { plan, password: plan.password ?? password, domains: null }
  const dav = login && (await requireDav(context, signIn, login, { email, imap }))
  const servers: ImapServers = { imap, smtp, auth: 'password', appendSent, dav }
  return { servers, password, smtpPassword, davPassword: plan?.password ?? null }
}

/** Stores the account of a mailbox and announces it. Refuses if the tenant has it already, or can have no more. */
export async function recordImapAccount(
  unit: ChangeUnit,
  { accountKeys }: Pick<SignIn, 'accountKeys'>,
  { servers, password, smtpPassword, davPassword }: CheckedMailbox,
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
      // Calendars and contacts that were found are on, unless the caller named them.
      settings_override: withFoundHalves(given.override, null, servers.dav),
      imap: servers,
    },
    { findExisting: () => findAccountIdByEmail(unit.sql, tenantId, given.email) },
  )
  await accountKeys.storeSecret(unit.sql, account, 'imap_password', password)
  if (smtpPassword) await accountKeys.storeSecret(unit.sql, account, 'smtp_password', smtpPassword)
  if (davPassword) await accountKeys.storeSecret(unit.sql, account, 'dav_password', davPassword)
  return account
}
