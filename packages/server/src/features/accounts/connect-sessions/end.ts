import type { AccountSettingsOverride } from '@waxwing/contract/accounts/account-settings.ts'
import type { ConnectError } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { Db } from '../../../database/pool.ts'
import type { Waker } from '../../../database/wake.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import { newId } from '../../../kit/ids.ts'
import type { Logger } from '../../../kit/log.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { ChangeUnit } from '../../../calls/context.ts'
import { Refusal } from '../../../calls/refuse.ts'
import { recordRow } from '../../tenancy/audit-log/record-rows.ts'
import { findTenantSettings } from '../../tenancy/settings/store.ts'
import { requireBodyStorage } from '../plans/limits.ts'
import { recordEnd } from './record.ts'
import { connectErrorOf, type Ending, pageUrl, returnUrl, statusOf } from './rules.ts'
import { lockSession, type SessionRow } from './store.ts'

/** The person on a page of a flow, for the audit log and for limits. */
export interface FlowCaller {
  /** The address, or the group of addresses, that counts together. */
  client: string
  ip: string | null
  userAgent: string | null
  requestId: string
}

export interface EndServices {
  db: Db
  waker: Pick<Waker, 'wake'>
  log: Logger
  /** The address of the service. */
  baseUrl(): string
}

/** Commits a step of a flow that comes from no operation, and wakes afterwards. */
export async function commitStep<T>(
  { db, waker }: Pick<EndServices, 'db' | 'waker'>,
  tenantId: string,
  work: (unit: ChangeUnit) => Promise<T>,
): Promise<T> {
  const woken = new Map<string, Parameters<Waker['wake']>>()
  const result = await inTransaction(db, tenantId, unit =>
    work({ ...unit, wake: (...wake) => void woken.set(wake.join(' '), wake) }),
  )
  for (const wake of woken.values()) waker.wake(...wake)
  return result
}

/** Adds the row of the audit log that the end of a flow leaves. */
export async function recordEndRow(
  unit: UnitOfWork,
  session: Pick<SessionRow, 'id' | 'kind'>,
  ending: Ending,
  caller: FlowCaller,
): Promise<void> {
  const { ip, userAgent, requestId } = caller
  await recordRow(unit.sql, {
    id: newId(),
    tenantId: unit.tenantId,
    actor: { type: 'connectSession', id: session.id, label: null },
    action: 'connect_session.complete',
    surface: 'hosted',
    targets: {
      [session.kind === 'hosted' ? 'sessionId' : 'authorizationId']: session.id,
      ...('accountId' in ending && { accountId: ending.accountId }),
    },
    ip,
    userAgent,
    status: statusOf(ending),
    errorReason: 'error' in ending ? ending.error : null,
    requestId,
  })
}

/**
 * Ends a flow that failed, and returns the URL to which the browser goes. A flow that has ended already stays as it is:
 * unless it ended in the same way, the URL has the error `session_used`.
 */
export async function failFlow(
  services: EndServices,
  session: SessionRow,
  error: ConnectError,
  { token, caller }: { token: string; caller: FlowCaller },
): Promise<string> {
  const ending = await commitStep(services, session.tenantId, async unit => {
    const now = await lockSession(unit, session.id)
    if (!now || (now.endedAt !== null && now.error !== error)) return { error: 'session_used' } as const
    if (now.endedAt !== null) return { error }
    const failed = { error: now.error ?? error }
    await recordEnd(unit, now.id, failed)
    await recordEndRow(unit, now, failed, caller)
    return failed
  })
  return findReturnUrl(services, session, ending, token)
}

/** The URL to which the browser goes at the end of a flow. */
export async function findReturnUrl(
  { db, baseUrl }: { db: Db; baseUrl(): string },
  session: SessionRow,
  ending: Ending,
  token: string,
): Promise<string> {
  const { redirectUris: allowed } = await findTenantSettings(db, session.tenantId)
  return returnUrl(session, ending, { allowed, page: pageUrl(baseUrl(), token) })
}

/**
 * The settings of an account to come, as far as its tenant still can have them: without a `bodyStorage` that the plan has
 * no room for any more, and without a honeypot where clicks are no longer tracked.
 */
export async function affordableSettings(
  db: Db,
  tenantId: string,
  settings: AccountSettingsOverride,
): Promise<AccountSettingsOverride> {
  const inherited = await findTenantSettings(db, tenantId)
  const { bodyStorage, trackingHoneypot, ...rest } = settings
  const hasRoom = await hasStorage(db, tenantId, { before: inherited.bodyStorage, after: bodyStorage })
  const tracksClicks = settings.trackClicks ?? inherited.trackClicks
  return {
    ...rest,
    ...(bodyStorage !== undefined && hasRoom && { bodyStorage }),
    ...(trackingHoneypot !== undefined && tracksClicks && { trackingHoneypot }),
  }
}

async function hasStorage(...given: Parameters<typeof requireBodyStorage>): Promise<boolean> {
  try {
    await requireBodyStorage(...given)
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

/** The code of the return for a failure of a step, which is logged. */
export function errorOf(error: unknown, { log }: Pick<EndServices, 'log'>, requestId: string): ConnectError {
  const known = error instanceof Refusal ? connectErrorOf(error.reason) : null
  if (known === null) {
    log.error({ requestId, error }, 'A connect flow failed')
    return 'internal_error'
  }
  // Not the cause itself, which may hold the provider's answer.
  const kind = error instanceof Error && error.cause instanceof ProviderFailure ? error.cause.kind : null
  log.info({ requestId, reason: known, kind }, 'A connect flow was refused')
  return known
}
