import { sql } from 'kysely'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import { mayOpenShared } from '../../providers/shared-scopes.ts'
import type { Cloud, OAuthProvider } from '../../providers/sign-in.ts'
import { announceConnected } from '../announce-connected.ts'
import { ALL_KINDS } from '../halves/kind.ts'
import { recordReachChanged } from '../halves/reach.ts'
import { addLackingHalves, lackingHalves } from '../halves/rows.ts'
import { recordStatusOfHalves } from '../halves/status.ts'
import { changedFields, presentAccount } from '../present.ts'
import { announceReauthRequired } from '../announce-reauth.ts'
import type { AccountView } from '../row.ts'
import { findAccountViews } from '../store.ts'
import { type LockedPage, lockPage } from './lock.ts'
import { delegateReason, planFollowing, type DelegateReason, type DelegateState } from './rules.ts'

/**
 * Lets the next page of shared mailboxes follow the state of their delegate, whichever it is now, so that a repetition
 * changes nothing.
 * @returns the ids of those that followed, and the last of them if there may be more
 */
export async function followPage(
  unit: UnitOfWork,
  delegateId: string,
  afterId?: string,
): Promise<Pick<LockedPage, 'sharedIds' | 'nextId'>> {
  const page = await lockPage(unit, delegateId, afterId === undefined ? {} : { afterId })
  await recordFollowing(unit, delegateId, page.sharedIds)
  return page
}

/**
 * Lets locked shared mailboxes follow their delegate, which is locked as well, and announces each change.
 * @returns why they cannot be opened; null if they can
 */
export async function recordFollowing(
  unit: UnitOfWork,
  delegateId: string,
  sharedIds: readonly string[],
): Promise<DelegateReason | null> {
  const reason = delegateReason(await readState(unit, delegateId))
  if (sharedIds.length === 0) return reason
  const before = await findViews(unit, sharedIds)
  const { stopped, renamed, revived } = planFollowing([...before.values()], reason)
  await storeStatus(unit, [...stopped, ...renamed, ...revived], reason)
  const gaining = reason === null ? [...before.values()].filter(view => lackingHalves(view).length > 0) : []
  if (reason === null) {
    await recordReachChanged(unit, sharedIds, ALL_KINDS)
    await addLackingHalves(unit, gaining)
  }
  for (const id of stopped) announceStopped(unit, before.get(id), reason)
  // The grant of the delegate allows more than before, which a mailbox that was not stopped shows in its settings.
  const gainingIds = new Set(gaining.map(({ id }) => id))
  for (const view of gaining.filter(({ id }) => !revived.includes(id)))
    unit.announce({
      type: 'account.updated',
      accountId: view.id,
      data: { account: presentAccount(view), changes: ['settings'] },
    })
  const after = await findViews(unit, [...renamed, ...revived])
  for (const [id, view] of after) {
    announceUpdated(unit, before.get(id), view, gainingIds.has(id))
    if (reason === null) announceConnected(unit, view, { reauthorized: true })
  }
  return reason
}

async function readState(unit: UnitOfWork, delegateId: string): Promise<DelegateState> {
  const { rows } = await sql<
    Omit<DelegateState, 'hasScopes'> & {
      provider: OAuthProvider | null
      cloud: Cloud | null
      scopes: string[] | null
    }
  >`
    select deleted_at is not null as "isDeleted", status = 'reauth_required' as "needsGrant",
      oauth_grant.account_id is not null and refused_at is null as "isGranted",
      oauth_grant.provider, account.cloud, scopes
    from account left join oauth_grant on oauth_grant.account_id = account.id
    where account.id = ${delegateId}
  `.execute(unit.sql)
  const [row] = rows
  if (!row) return { isDeleted: true, isGranted: false, needsGrant: true, hasScopes: false }
  const { provider, cloud, scopes, ...state } = row
  return {
    ...state,
    hasScopes: provider !== null && scopes !== null && mayOpenShared({ provider, cloud }, scopes),
  }
}

function findViews(unit: UnitOfWork, ids: readonly string[]): Promise<Map<string, AccountView>> {
  return findAccountViews(
    unit.sql,
    ids.map(id => ({ tenantId: unit.tenantId, id })),
  )
}

async function storeStatus(
  unit: UnitOfWork,
  ids: readonly string[],
  reason: DelegateReason | null,
): Promise<void> {
  if (ids.length === 0) return
  await unit.sql
    .updateTable('account')
    .set({
      status: reason === null ? 'active' : 'reauth_required',
      status_reason: reason,
      updated_at: sql`clock_timestamp()`,
    })
    .where('tenant_id', '=', unit.tenantId)
    .where(sql<boolean>`id = any(${[...ids]}::uuid[])`)
    .execute()
  await recordStatusOfHalves(unit, ids)
}

function announceStopped(unit: UnitOfWork, view: AccountView | undefined, reason: string | null): void {
  if (view && reason !== null) announceReauthRequired(unit, view, reason)
}

/** @param isGaining whether the grant of the delegate allows more than before, which both views show already */
function announceUpdated(
  unit: UnitOfWork,
  before: AccountView | undefined,
  after: AccountView,
  isGaining: boolean,
): void {
  if (!before) return
  const account = presentAccount(after)
  const differing = changedFields(presentAccount(before), account)
  const changes = isGaining ? [...new Set([...differing, 'settings'])] : differing
  if (changes.length > 0)
    unit.announce({ type: 'account.updated', accountId: after.id, data: { account, changes } })
}
