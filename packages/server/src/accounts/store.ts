import type { AccountSettingsOverride } from '@waxwing/contract/accounts/account-settings.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { type Kysely, sql } from 'kysely'
import { type NewestFirst, isAfter, rowsToRead } from '../database/page.ts'
import type { Db } from '../database/pool.ts'
import { COLUMNS, type Tables } from '../database/tables.ts'
import type { UnitOfWork } from '../events/unit-of-work.ts'
import { changedView, endedProblems, type HalfChange } from './halves/changed-view.ts'
import { MAIL_HALF_COLUMNS, otherHalves } from './halves/columns.ts'
import { reachedDifferently, recordReachChanged } from './halves/reach.ts'
import { addLackingHalves, insertMailHalf, lackingHalves } from './halves/rows.ts'
import { recordStatusOfHalves } from './halves/status.ts'
import { endProblems, storeProblem } from './halves/trouble.ts'
import type { AccountRow, AccountView, ImapServers } from './row.ts'
import { presentAccount, changedFields } from './present.ts'

/** A heartbeat gives a lease of 10 seconds (processes/lease.ts), so this is 30 seconds after the last heartbeat. */
const SILENCE_AFTER_LEASE_SECONDS = 20

/** The scopes of the grant that opens an account; null if it has none. */
export const grantedScopes = sql<string[] | null>`(
  select scopes from oauth_grant
  where oauth_grant.account_id = coalesce(account.delegate_account_id, account.id))`

const isFollowed = sql<boolean>`coalesce(account.owner_instance = account_half.runtime_instance
  and heartbeat_until > clock_timestamp() - make_interval(secs => ${SILENCE_AFTER_LEASE_SECONDS})
  and heartbeat_until < clock_timestamp() + interval '1 minute', false)`

/** Finds the tenant's account, whether the credential may see it or not: `requireAccount` checks that. */
export async function findAccount(db: Db, tenantId: string, id: string): Promise<AccountRow | null> {
  const row = await withMailHalf(db)
    .select(COLUMNS.account)
    .select(MAIL_HALF_COLUMNS)
    .select(grantedScopes.as('granted_scopes'))
    .where('account.tenant_id', '=', tenantId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  // Only this file writes the columns whose types are wider than their content.
  return (row as AccountRow | undefined) ?? null
}

function withMailHalf(db: Kysely<Tables>) {
  return db
    .selectFrom('account')
    .innerJoin('account_half', join =>
      join.onRef('account_half.account_id', '=', 'account.id').on('account_half.kind', '=', 'mail'),
    )
}

/** A query of the tenant's accounts with everything needed to show them. The caller adds conditions and order. */
export function accountViews(db: Db, tenantId: string) {
  return everyAccountView(db).where('account.tenant_id', '=', tenantId).$castTo<AccountView>()
}

/** Like `accountViews`, for all tenants. For the operator only. */
export function everyAccountView(db: Db) {
  return withMailHalf(db)
    .innerJoin('tenant', 'tenant.id', 'account.tenant_id')
    .leftJoin('instance', 'instance.id', 'account.owner_instance')
    .select(COLUMNS.account)
    .select(MAIL_HALF_COLUMNS)
    .select([
      'tenant.settings as tenant_settings',
      isFollowed.as('is_followed'),
      otherHalves.as('other_halves'),
      grantedScopes.as('granted_scopes'),
    ])
    .where('account.deleted_at', 'is', null)
}

export interface AccountFilters {
  /** Null selects every account of the tenant. */
  accountIds: readonly string[] | null
  externalRef?: string
  q?: string
  status?: Account['status']
  orgConnectionId?: string
  delegateAccountId?: string
}

/** Lists a page of accounts, newest first, and at least one more if there is one. */
export async function listAccountViews(
  db: Db,
  tenantId: string,
  page: { filters: AccountFilters; position: NewestFirst | null; limit: number },
): Promise<AccountView[]> {
  const { accountIds, externalRef, q, status, orgConnectionId, delegateAccountId } = page.filters
  // Accounts of organization connections do not exist yet.
  if (orgConnectionId !== undefined) return []
  let views = accountViews(db, tenantId)
  if (accountIds !== null) views = views.where(sql<boolean>`account.id = any(${accountIds}::uuid[])`)
  if (externalRef !== undefined) views = views.where('account.external_ref', '=', externalRef)
  if (status !== undefined) views = views.where('account.status', '=', status)
  if (delegateAccountId !== undefined)
    views = views.where('account.delegate_account_id', '=', delegateAccountId)
  if (q !== undefined) {
    const pattern = `%${q.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
    views = views.where(
      sql<boolean>`(account.email ilike ${pattern} or account.external_ref ilike ${pattern})`,
    )
  }
  return views
    .where(isAfter(page.position, { time: 'account.created_at', id: 'account.id' }))
    .orderBy('account.created_at', 'desc')
    .orderBy('account.id', 'desc')
    .limit(rowsToRead(page.limit))
    .execute()
}

export async function findAccountView(db: Db, tenantId: string, id: string): Promise<AccountView | null> {
  return (await accountViews(db, tenantId).where('account.id', '=', id).executeTakeFirst()) ?? null
}

/** Ids of an account of any tenant. */
export interface AccountOfTenant {
  tenantId: string
  id: string
}

/** Like `accountViews`, for these accounts of any tenants. */
export function accountViewsOf(db: Db, accounts: readonly AccountOfTenant[]) {
  return everyAccountView(db)
    .where(
      sql<boolean>`(account.tenant_id, account.id) in (
        select * from unnest(${accounts.map(({ tenantId }) => tenantId)}::uuid[], ${accounts.map(({ id }) => id)}::uuid[]))`,
    )
    .$castTo<AccountView>()
}

/** Accounts of any tenants, by their ids. */
export async function findAccountViews(
  db: Db,
  accounts: readonly AccountOfTenant[],
): Promise<Map<string, AccountView>> {
  const wanted = new Map(accounts.map(account => [account.id, account]))
  const rows = await accountViewsOf(db, [...wanted.values()]).execute()
  return new Map(rows.map(row => [row.id, row]))
}

/** Reads the account, and locks it and the settings that it inherits until the transaction ends. */
export async function lockAccount(unit: UnitOfWork, id: string): Promise<AccountView | null> {
  // In the order in which a change of the tenant's settings locks them.
  await unit.sql.selectFrom('tenant').select('id').where('id', '=', unit.tenantId).forShare().execute()
  const held = await unit.sql
    .selectFrom('account')
    .select('id')
    .where('tenant_id', '=', unit.tenantId)
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return held ? findAccountView(unit.sql, unit.tenantId, id) : null
}

export type NewAccount = Pick<
  AccountRow,
  | 'id'
  | 'provider'
  | 'auth_method'
  | 'email'
  | 'display_name'
  | 'external_ref'
  | 'settings_override'
  | 'imap'
  | 'data_key'
> &
  Partial<Pick<AccountRow, 'subject' | 'oauth_app_id' | 'cloud' | 'delegate_account_id' | 'wants_shared'>>

/**
 * Returns null if a live account of the tenant has this mailbox.
 * @param storeGrant stores the grant that opens the account, before its scopes are asked which halves it has
 */
export async function insertAccount(
  unit: UnitOfWork,
  account: NewAccount,
  storeGrant: () => Promise<void> = async () => {},
): Promise<AccountView | null> {
  const inserted = await unit.sql
    .insertInto('account')
    .values({
      ...account,
      tenant_id: unit.tenantId,
      settings_override: JSON.stringify(account.settings_override),
      imap: account.imap && JSON.stringify(account.imap),
      // Cursors of the list hold milliseconds.
      created_at: sql`date_trunc('milliseconds', clock_timestamp())`,
      // The default would be the start of the transaction, which is earlier.
      updated_at: sql`clock_timestamp()`,
    })
    // Its address and its subject are unique.
    .onConflict(target => target.doNothing())
    .executeTakeFirst()
  if (!inserted.numInsertedOrUpdatedRows) return null
  await insertMailHalf(unit, account.id)
  await storeGrant()
  const view = await findAccountView(unit.sql, unit.tenantId, account.id)
  return view && (await withLackingHalves(unit, view))
}

/** Gives a locked account the halves that are switched on and that it lacks. */
async function withLackingHalves(unit: UnitOfWork, view: AccountView): Promise<AccountView> {
  if (lackingHalves(view).length === 0) return view
  await addLackingHalves(unit, [view])
  return (await findAccountView(unit.sql, unit.tenantId, view.id)) ?? view
}

/** The id of the tenant's live account whose user has this subject. */
export async function findAccountIdBySubject(
  db: Db,
  tenantId: string,
  subject: string,
): Promise<string | null> {
  const row = await db
    .selectFrom('account')
    .select('id')
    .where('subject', '=', subject)
    .where('tenant_id', '=', tenantId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row?.id ?? null
}

/** The id of the live account of a mailbox. */
export async function findAccountIdByEmail(db: Db, tenantId: string, email: string): Promise<string | null> {
  const row = await db
    .selectFrom('account')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where(sql`lower(email)`, '=', email.toLowerCase())
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row?.id ?? null
}

/** Whether an account of the kind waits for a new grant. */
export async function hasRenewableAccount(
  db: Db,
  tenantId: string,
  provider: Account['provider'],
): Promise<boolean> {
  const row = await db
    .selectFrom('account')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('provider', '=', provider)
    .where('auth_method', '=', 'oauth')
    .where('status', 'in', ['reauth_required', 'disabled'])
    .where('deleted_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Counts the tenant's accounts that are not deleted, whatever their status. */
export async function countAccounts(db: Db, tenantId: string): Promise<number> {
  const { count } = await db
    .selectFrom('account')
    .select(sql<number>`count(*)::integer`.as('count'))
    .where('tenant_id', '=', tenantId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}

export interface AccountChange {
  email?: string
  display_name?: string | null
  subject?: string | null
  oauth_app_id?: string | null
  cloud?: Account['cloud']
  /** The scopes of the grant that opens the account from now on, which is stored already. */
  granted_scopes?: string[]
  delegate_account_id?: string
  wants_shared?: boolean
  external_ref?: string | null
  status?: Account['status']
  status_reason?: string | null
  settings_override?: AccountSettingsOverride
  imap?: ImapServers
}

/**
 * Writes a change of a locked account, and announces `account.updated` if anything differs afterwards. The followers of
 * halves that are reached in another way restart.
 */
export async function updateAccount(
  unit: UnitOfWork,
  before: AccountView,
  change: AccountChange,
  { reachedAnew = [], problem, proven = [] }: HalfChange = {},
): Promise<AccountView> {
  const shownBefore = presentAccount(before)
  const reached = new Set([
    ...reachedAnew,
    ...reachedDifferently(shownBefore, presentAccount({ ...before, ...change })),
  ])
  const ended = endedProblems(before, change, { reached, proven })
  const changed = changedView(before, change, { ended, problem })
  const isSeen = changedFields(shownBefore, presentAccount(changed)).length > 0
  const isUnseen = change.wants_shared !== undefined && change.wants_shared !== before.wants_shared
  if (!isSeen && reached.size === 0 && !problem && !isUnseen) return before

  const { settings_override, imap, granted_scopes: _, ...plain } = change
  await unit.sql
    .updateTable('account')
    .set({
      ...plain,
      ...(settings_override && { settings_override: JSON.stringify(settings_override) }),
      ...(imap && { imap: JSON.stringify(imap) }),
      updated_at: sql`clock_timestamp()`,
    })
    .where('tenant_id', '=', unit.tenantId)
    .where('id', '=', before.id)
    .execute()
  if (change.status !== undefined && change.status !== before.status)
    await recordStatusOfHalves(unit, [before.id])
  else if (ended.size > 0) await endProblems(unit, before.id, ended)
  if (problem) await storeProblem(unit, before.id, problem)
  if (reached.size > 0) await recordReachChanged(unit, [before.id], reached)
  const found = (await findAccountView(unit.sql, unit.tenantId, before.id)) ?? changed
  const after = await withLackingHalves(unit, found)
  const account = presentAccount(after)
  // Another delegate may allow other halves, which only the stored row shows.
  const changes = changedFields(shownBefore, account)
  if (changes.length > 0)
    unit.announce({ type: 'account.updated', accountId: before.id, data: { account, changes } })
  return after
}
