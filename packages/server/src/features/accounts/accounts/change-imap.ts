import { isDeepStrictEqual } from 'node:util'
import type { ImapSettingsInput } from '@waxwing/contract/accounts/account-inputs.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { Secret } from '../../../kit/secret.ts'
import type { ChangeUnit, RequestContext } from '../../../calls/context.ts'
import { Refusal, refuse } from '../../../calls/refuse.ts'
import { recordSendingSecretChanged } from '../../../accounts/halves/reach.ts'
import type { AccountRow, AccountView, ImapServers } from '../../../accounts/row.ts'
import { announceConnected } from '../../../accounts/announce-connected.ts'
import { type DavSettings, knownDomains, planDav, withFoundHalves } from './dav-plan.ts'
import { type DavLogin, requireDav } from './dav-servers.ts'
import { requireEncryption, requireLogin, type SignIn } from './imap-servers.ts'
import { presentAccount } from '../../../accounts/present.ts'
import { completeServer } from './rules.ts'
import { type SecretName, findSecretsStamp } from '../../../accounts/secrets.ts'
import { type AccountChange, findAccount, lockAccount, updateAccount } from '../../../accounts/store.ts'

/** The outcome of a change of an IMAP account's servers. An absent secret stays; null removes it. */
interface ImapPlan {
  servers: ImapServers
  secrets: Partial<Record<SecretName, Secret | null>>
  /** The password to log in with, or null if nothing about the server changes. */
  imapPassword: Secret | null
  smtpPassword: Secret | null
  /** The login to DAV servers that is to be tried; null if nothing about them changes. */
  dav: DavLogin | null
}

/** Changes servers and passwords after logging in with them. Nothing changes unless every login succeeds. */
export async function changeImapAccount(
  context: RequestContext,
  signIn: SignIn,
  accountId: string,
  input: ImapSettingsInput,
): Promise<Account> {
  const change = await checkImapChange(context, signIn, accountId, input)
  return context.change(async unit => presentAccount(await recordImapChange(unit, signIn, change)))
}

/** A change whose logins succeeded, and the state of the account for which it was planned. */
export interface CheckedChange {
  accountId: string
  email: string
  current: ImapServers
  stamp: string | null
  plan: ImapPlan
}

/** Plans a change and logs in with it, or refuses. */
export async function checkImapChange(
  context: Pick<RequestContext, 'db' | 'tenantId' | 'requestId' | 'log'>,
  signIn: SignIn,
  accountId: string,
  input: ImapSettingsInput,
): Promise<CheckedChange> {
  const { db, tenantId } = context
  // Read in one snapshot: a password that is stored now might not have been given for a host read a moment earlier.
  const change = await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async moment => {
      const account = (await findAccount(moment, tenantId, accountId)) ?? refuse('account_not_found')
      const current = requireImap(account, input)
      const stamp = await findSecretsStamp(moment, accountId)
      const plan = await planChange(moment, signIn, account, current, input)
      return { accountId, email: account.email, current, stamp, plan }
    })
  const { plan, email, current } = change
  const { servers, imapPassword, smtpPassword, dav } = plan
  await requireLogin(context, signIn, {
    imap: imapPassword && { server: servers.imap, password: imapPassword },
    smtp: servers.smtp && smtpPassword && { server: servers.smtp, password: smtpPassword },
  })
  if (!dav) return change
  const found = await requireDav(context, signIn, dav, { email, imap: servers.imap }).catch(
    (error: unknown) =>
      // The password is known to be good, and a DAV server that is down keeps nobody from signing in to the mailbox.
      input.dav === undefined && isDown(error) ? current.dav : Promise.reject(error),
  )
  return { ...change, plan: { ...plan, servers: { ...servers, dav: found } } }
}

function isDown(error: unknown): boolean {
  if (!(error instanceof Refusal)) return false
  return error.reason === 'provider_unavailable' || error.reason === 'provider_throttled'
}

/** Stores a change, unless another one was stored while we logged in. */
export async function recordImapChange(
  unit: ChangeUnit,
  signIn: SignIn,
  { accountId, current, stamp, plan }: CheckedChange,
): Promise<AccountView> {
  const locked = (await lockAccount(unit, accountId)) ?? refuse('account_not_found')
  const isSame = isDeepStrictEqual(locked.imap, current)
  // The checked servers may not fit the ones that another request stored during the login.
  if (!isSame || (await findSecretsStamp(unit.sql, accountId)) !== stamp) refuse('provider_conflict')
  unit.wake(accountId)
  return storeChange(signIn, unit, locked, plan)
}

/** Returns the servers of an IMAP account that may be changed in this way. */
function requireImap({ imap }: AccountRow, input: ImapSettingsInput): ImapServers {
  if (!imap) return refuse('not_imap_account')
  if (imap.auth === 'oauth') {
    if (input.password !== undefined || input.smtpPassword) refuse('password_unsupported')
    if (input.imap || input.smtp !== undefined) refuse('oauth_servers_fixed')
  }
  return imap
}

async function planChange(
  db: Db,
  signIn: SignIn,
  account: AccountRow,
  current: ImapServers,
  input: ImapSettingsInput,
): Promise<ImapPlan> {
  const imap = input.imap ? completeServer(input.imap, current.imap.user) : current.imap
  const smtp =
    input.smtp === undefined
      ? current.smtp
      : input.smtp && completeServer(input.smtp, current.smtp?.user ?? imap.user)
  requireEncryption(signIn, input.imap && imap, input.smtp && smtp)
  const appendSent = input.appendSent ?? current.appendSent
  const dav = input.dav === null ? null : current.dav
  const servers = { ...current, imap, smtp, appendSent, dav }
  const change = { current, servers, input }
  const logins = await planLogins(db, signIn, account, change)
  const davLogin = await planDavLogin(db, signIn, account, change)
  return {
    servers,
    ...logins,
    secrets: { ...logins.secrets, ...davSecret(current.dav, input.dav, davLogin) },
    dav: davLogin,
  }
}

/** The secret of DAV that changes, if one does. */
function davSecret(
  current: DavSettings | null,
  input: ImapSettingsInput['dav'],
  login: ImapPlan['dav'],
): ImapPlan['secrets'] {
  const isLeft = input === null || login?.plan.auth === 'imap_password'
  if (isLeft) return current?.auth === 'password' ? { dav_password: null } : {}
  return login?.plan.password ? { dav_password: login.plan.password } : {}
}

/**
 * Decides whether the DAV servers are logged in to, and with which password: they are when their settings change, and when
 * the password of IMAP changes that is theirs as well.
 */
async function planDavLogin(
  db: Db,
  { accountKeys, allowPlaintext }: SignIn,
  account: AccountRow,
  { current, input }: { current: ImapServers; input: ImapSettingsInput },
): Promise<ImapPlan['dav']> {
  const isShared = current.dav?.auth === 'imap_password'
  if (input.dav === null || (!input.dav && !(isShared && input.password !== undefined))) return null
  const plan = planDav(input.dav ?? {}, {
    current: current.dav,
    isOauth: current.auth === 'oauth',
    allowPlaintext,
  })
  const sent = plan.auth === 'password' ? plan.password : input.password && new Secret(input.password)
  if (sent) return { plan, password: sent, domains: null }
  const { calendarUrl, contactsUrl, auth } = current.dav ?? {}
  const own = auth === plan.auth ? [calendarUrl, contactsUrl] : []
  const stored = (name: SecretName) => accountKeys.findSecret(db, account, name)
  if (plan.auth === 'password') {
    const password = (await stored('dav_password')) ?? refuse('password_not_stored')
    return { plan, password, domains: knownDomains(own) }
  }
  // A server with a password of its own was never sent the one of IMAP.
  const sharing = (await stored('smtp_password')) ? null : current.smtp?.host
  const password = (await stored('imap_password')) ?? refuse('password_not_stored')
  return { plan, password, domains: knownDomains([current.imap.host, sharing, ...own]) }
}

/** Decides which servers are logged in to with which password, and which secrets change if that succeeds. */
async function planLogins(
  db: Db,
  { accountKeys }: SignIn,
  account: AccountRow,
  change: { current: ImapServers; servers: ImapServers; input: ImapSettingsInput },
): Promise<Omit<ImapPlan, 'servers' | 'dav'>> {
  const { current, input } = change
  const { imap, smtp } = change.servers
  const stored = (name: SecretName) => accountKeys.findSecret(db, account, name)
  const password = input.password === undefined ? null : new Secret(input.password)
  const storedSmtpPassword = await stored('smtp_password')
  const ownSmtpPassword =
    input.smtpPassword === undefined
      ? storedSmtpPassword
      : input.smtpPassword === null
        ? null
        : new Secret(input.smtpPassword)

  const isImapTried = password !== null || !isDeepStrictEqual(imap, current.imap)
  const isSmtpTried =
    smtp !== null &&
    (!isDeepStrictEqual(smtp, current.smtp) ||
      input.smtpPassword !== undefined ||
      (password !== null && ownSmtpPassword === null))
  const isMainForSmtp = isSmtpTried && ownSmtpPassword === null
  if (password === null) {
    const hosts = [current.imap.host, ...(storedSmtpPassword ? [] : [current.smtp?.host])]
    if (isImapTried) requireKnownHost('imap', imap.host, hosts, 'password')
    if (isMainForSmtp) requireKnownHost('smtp', smtp.host, hosts, 'password')
  }
  if (isSmtpTried && ownSmtpPassword && input.smtpPassword === undefined) {
    requireKnownHost('smtp', smtp.host, [current.smtp?.host], 'smtpPassword')
  }
  const needsMainPassword = isImapTried || isMainForSmtp
  const mainPassword = password ?? (needsMainPassword ? await stored('imap_password') : null)
  if (needsMainPassword && !mainPassword) refuse('password_not_stored')

  return {
    secrets: {
      ...(password && { imap_password: password }),
      ...((input.smtpPassword !== undefined || smtp === null) && {
        smtp_password: smtp === null ? null : ownSmtpPassword,
      }),
    },
    imapPassword: isImapTried ? mainPassword : null,
    smtpPassword: isSmtpTried ? (ownSmtpPassword ?? mainPassword) : null,
  }
}

/**
 * A stored password is sent only to the hosts that it was given for. Otherwise, a caller who may change the servers but
 * does not have the password could have it sent to a server of their own and read it there.
 */
function requireKnownHost(
  server: 'imap' | 'smtp',
  host: string,
  known: readonly (string | undefined)[],
  field: 'password' | 'smtpPassword',
): void {
  if (known.includes(host)) return
  refuse('password_required', undefined, {
    message: `The stored password is not sent to a host that it was not given for. Send ${field} together with ${server}.host.`,
  })
}

async function storeChange(
  { accountKeys }: SignIn,
  unit: UnitOfWork,
  account: AccountView,
  plan: ImapPlan,
): Promise<AccountView> {
  for (const [name, secret] of Object.entries(plan.secrets) as [SecretName, Secret | null][]) {
    if (secret) await accountKeys.storeSecret(unit.sql, account, name, secret)
    else await accountKeys.removeSecret(unit.sql, account, name)
  }
  const isNewGrant = plan.secrets.imap_password !== undefined
  const isBroken = account.status === 'reauth_required' || account.status === 'disabled'
  const isProven = account.status === 'active' && plan.imapPassword !== null
  const before = account.imap?.dav ?? null
  const { dav } = plan.servers
  const change: AccountChange = {
    imap: plan.servers,
    settings_override: withFoundHalves(account.settings_override, before, dav),
    ...((isProven || (isNewGrant && isBroken)) && { status: 'active', status_reason: null }),
  }
  const davHalves = plan.dav ? (['calendar', 'contacts'] as const) : []
  const after = await updateAccount(unit, account, change, {
    reachedAnew: [...(isNewGrant ? (['mail'] as const) : []), ...davHalves],
    proven: davHalves,
  })
  if (plan.secrets.smtp_password !== undefined && !isNewGrant)
    await recordSendingSecretChanged(unit, account.id)
  if (isNewGrant) announceConnected(unit, after, { reauthorized: true })
  return after
}
