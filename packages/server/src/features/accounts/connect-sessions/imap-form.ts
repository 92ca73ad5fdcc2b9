import type { HostedImapInput } from '@waxwing/contract/accounts/connect-sessions.ts'
import { wholeSecondsSince } from '../../../kit/egress/discreet-guard.ts'
import type { FoundServers } from '../../../providers/discovery.ts'
import type { ServerCheck } from '../../../providers/mail-server.ts'
import type { ChangeUnit } from '../../../calls/context.ts'
import { Refusal, refuse } from '../../../calls/refuse.ts'
import { findTenantPlan } from '../../tenancy/plans/store.ts'
import type { AccountRow, AccountView } from '../../../accounts/row.ts'
import { checkImapChange, recordImapChange } from '../accounts/change-imap.ts'
import { logInToMailbox, planNewDav, recordImapAccount } from '../accounts/connect-imap.ts'
import { completeServers, requireEncryption } from '../accounts/imap-servers.ts'
import { isRenewable } from '../accounts/rules.ts'
import { findAccount, findAccountIdByEmail } from '../../../accounts/store.ts'
import { requireServers } from '../autoconfig/access.ts'
import { requireAccountRoom, requirePaid } from '../plans/limits.ts'
import { affordableSettings } from './end.ts'
import type { FlowParts } from './flow-parts.ts'
import { countUse, recordEnd } from './record.ts'
import { connectErrorOf, type Ending, settingsOfImap } from './rules.ts'
import { lockSession, type SessionRow } from './store.ts'

/** The way in which the caller of the form commits: an operation by its context, a page by itself. */
export interface FormCall {
  client: string
  requestId: string
  /** Commits a count before the login. */
  step(work: (unit: ChangeUnit) => Promise<boolean>): Promise<boolean>
  /**
   * Commits the end of the flow, with its row in the audit log. Called once. Returns the URL to which the browser goes.
   */
  finish(work: (unit: ChangeUnit) => Promise<Ending>): Promise<FormAnswer>
}

export interface FormAnswer {
  redirectUrl: string
}

/**
 * Connects an IMAP mailbox with the password that a person gave, and ends the flow. Errors that the person can put
 * right are refused, and the flow goes on: a failed login always in the same words.
 */
export async function connectByForm(
  parts: FlowParts,
  session: SessionRow,
  input: HostedImapInput,
  call: FormCall,
): Promise<FormAnswer> {
  if (!session.passwordImap) refuse('provider_not_allowed')
  const flow = { parts, session, input, call }
  return session.isReconnect ? reconnect(flow) : connect(flow)
}

interface FormFlow {
  parts: FlowParts
  session: SessionRow
  input: HostedImapInput
  call: FormCall
}

async function connect(flow: FormFlow): Promise<FormAnswer> {
  const { parts, session, input, call } = flow
  const { db, mail } = parts
  const { tenantId, externalRef } = session
  const dav = planNewDav(mail, input)
  requireEncryption(mail, input.imap, input.smtp)
  const broken = await findBroken(flow)
  try {
    await requirePaid(db, tenantId)
    // An account that is renewed does not count against the plan's accounts.
    if (!broken) await requireAccountRoom(db, tenantId, await findTenantPlan(db, tenantId))
  } catch (error) {
    return endWith(flow, error)
  }
  if (broken) return renew(flow, broken)
  if (!input.imap || input.smtp === undefined) await countSearch(session.id, call.step)
  const servers = await completeServers(mail, input)
  const mailbox = await logIn(flow, counted =>
    logInToMailbox(logging(flow), counted, servers, { ...input, dav }),
  )
  return record(flow, async unit => {
    const { email, displayName = null } = input
    const override = await affordableSettings(unit.sql, tenantId, settingsOfImap(session.settings))
    return recordImapAccount(unit, mail, mailbox, { email, displayName, externalRef, override })
  })
}

/** The account of the mailbox, if it is one that a sign-in renews. */
async function findBroken({ parts: { db }, session, input }: FormFlow): Promise<AccountRow | null> {
  const id = await findAccountIdByEmail(db, session.tenantId, input.email)
  const account = id === null ? null : await findAccount(db, session.tenantId, id)
  const isOurs = account?.auth_method === 'password'
  return isOurs && isRenewable(account, session.externalRef) ? account : null
}

async function reconnect(flow: FormFlow): Promise<FormAnswer> {
  const { parts, session, input } = flow
  const { tenantId, accountId } = session
  const account = accountId === null ? null : await findAccount(parts.db, tenantId, accountId)
  if (!account) return record(flow, () => refuse('account_mismatch'))
  if (account.email.toLowerCase() !== input.email.toLowerCase()) refuse('account_mismatch')
  return renew(flow, account)
}

/** Only the passwords change: the servers of the account stay, even if the form names others. */
async function renew(flow: FormFlow, account: AccountRow): Promise<FormAnswer> {
  const { parts, session, input } = flow
  const { tenantId } = session
  const { password, smtpPassword } = input
  const passwords = { password, ...(smtpPassword !== undefined && { smtpPassword }) }
  const context = { ...logging(flow), db: parts.db, tenantId }
  const change = await logIn(flow, counted => checkImapChange(context, counted, account.id, passwords))
  return record(flow, unit => recordImapChange(unit, parts.mail, change))
}

function logging({ parts, call }: FormFlow) {
  return { requestId: call.requestId, log: parts.log }
}

/**
 * Tries a login, which counts for the session, and for the client once a server is contacted. It takes at least a
 * second, and its failures cannot be told apart.
 */
async function logIn<T>(
  { parts, session, call }: FormFlow,
  tryLogin: (counted: FlowParts['mail']) => Promise<T>,
): Promise<T> {
  await parts.logins.require(call.client)
  if (!(await call.step(unit => countUse(unit, session.id, 'logins')))) refuse('rate_limited')
  const startedAt = performance.now()
  try {
    return await tryLogin({ ...parts.mail, servers: countingCheck(parts, call.client) })
  } catch (error) {
    if (!(error instanceof Refusal) || error.reason === 'rate_limited') throw error
    throw new Refusal('login_failed', undefined, { cause: error })
  } finally {
    await wholeSecondsSince(startedAt)
  }
}

/** Counts one login of the client when the first server is contacted. */
function countingCheck({ mail: { servers }, logins }: FlowParts, client: string): ServerCheck {
  let counted: Promise<void> | null = null
  const onAsked = () => (counted ??= logins.count(client))
  return {
    imap: (server, password) => servers.imap(server, password, onAsked),
    smtp: (server, password) => servers.smtp(server, password, onAsked),
    dav: (server, password) => servers.dav(server, password, onAsked),
  }
}

/**
 * Commits the account and the end of the session together, or the error that keeps the account from being connected.
 */
async function record(
  flow: FormFlow,
  store: (unit: ChangeUnit) => Promise<AccountView>,
): Promise<FormAnswer> {
  const { session, call } = flow
  try {
    return await call.finish(async unit => {
      await requireOpen(unit, session.id)
      const account = await store(unit)
      await recordEnd(unit, session.id, { account })
      return { accountId: account.id }
    })
  } catch (error) {
    return endWith(flow, error)
  }
}

/** Ends the flow with the error of its mailbox, if the return has a code for it. */
async function endWith({ session, call }: FormFlow, cause: unknown): Promise<FormAnswer> {
  const reason = cause instanceof Refusal ? cause.reason : null
  const error = reason === 'account_not_found' ? 'account_mismatch' : connectErrorOf(reason ?? '')
  if (error === null || error === 'session_used') throw cause
  return call.finish(async unit => {
    await requireOpen(unit, session.id)
    await recordEnd(unit, session.id, { error })
    return { error }
  })
}

async function requireOpen(unit: ChangeUnit, sessionId: string): Promise<void> {
  const now = await lockSession(unit, sessionId)
  if (!now || now.endedAt !== null) refuse('session_used')
}

/** Searches for the servers of an address, if the session has a search left. */
export async function findServersFor(
  { mail }: Pick<FlowParts, 'mail'>,
  email: string,
  { sessionId, step }: { sessionId: string; step: FormCall['step'] },
): Promise<FoundServers> {
  await countSearch(sessionId, step)
  return requireServers(mail.serverSearch, email)
}

async function countSearch(sessionId: string, step: FormCall['step']): Promise<void> {
  if (!(await step(unit => countUse(unit, sessionId, 'searches')))) refuse('rate_limited')
}
