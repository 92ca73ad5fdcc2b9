import { isDeepStrictEqual } from 'node:util'
import type { ImapSettingsInput } from '@waxwing/contract/accounts/account-inputs.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { Secret } from '../../../kit/secret.ts'
import type { ChangeUnit, RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { recordSendingSecretChanged } from '../../../accounts/halves/reach.ts'
import type { AccountRow, AccountView, ImapServers } from '../../../accounts/row.ts'
import { announceConnected } from '../../../accounts/announce-connected.ts'
import { refuseDav } from './connect-imap.ts'
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
      return { accountId, current, stamp, plan: await planChange(moment, signIn, account, current, input) }
    })
  const { servers, imapPassword, smtpPassword } = change.plan
  await requireLogin(context, signIn, {
    imap: imapPassword && { server: servers.imap, password: imapPassword },
    smtp: servers.smtp && smtpPassword && { server: servers.smtp, password: smtpPassword },
  })
  return change
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
  if (input.dav) refuseDav()
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
  const servers = { ...current, imap, smtp, appendSent: input.appendSent ?? current.appendSent }
  return { servers, ...(await planLogins(db, signIn, account, { current, servers, input })) }
}

/** Decides which servers are logged in to with which password, and which secrets change if that succeeds. */
async function planLogins(
  db: Db,
  { accountKeys }: SignIn,
  account: AccountRow,
  change: { current: ImapServers; servers: ImapServers; input: ImapSettingsInput },
): Promise<Omit<ImapPlan, 'servers'>> {
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
  const change: AccountChange = {
    imap: plan.servers,
    ...((isProven || (isNewGrant && isBroken)) && { status: 'active', status_reason: null }),
  }
  const after = await updateAccount(unit, account, change, { reachedAnew: isNewGrant ? ['mail'] : [] })
  if (plan.secrets.smtp_password !== undefined && !isNewGrant)
    await recordSendingSecretChanged(unit, account.id)
  if (isNewGrant) announceConnected(unit, after, { reauthorized: true })
  return after
}
