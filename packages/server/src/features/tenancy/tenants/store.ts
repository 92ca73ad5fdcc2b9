import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { newId } from '../../../kit/ids.ts'
import type { Plan } from '../plans/plan.ts'
import { newTenantSettings } from './rules.ts'

export interface TenantRow {
  id: string
  name: string
  suspended_at: Date | null
  /** Time since which a payment is overdue: new sends and accounts are refused. */
  past_due_at: Date | null
  /** Time since which tracked links in its messages answer 404, and none are made. */
  links_off_at: Date | null
  created_at: Date
}

const COLUMNS = ['id', 'name', 'suspended_at', 'past_due_at', 'links_off_at', 'created_at'] as const

/** Creates a tenant with the initial settings of its plan. Returns null if the name is taken. */
export async function createTenant(
  db: Db,
  name: string,
  plan: Plan | null = null,
): Promise<TenantRow | null> {
  const row = await db
    .insertInto('tenant')
    .values({
      id: newId(),
      name,
      settings: JSON.stringify(newTenantSettings(plan)),
      plan_id: plan?.id ?? null,
    })
    .onConflict(target => target.column('name').doNothing())
    .returning(COLUMNS)
    .executeTakeFirst()
  return row ?? null
}

/** Lists every tenant of the installation, oldest first. */
export async function listTenants(db: Db): Promise<TenantRow[]> {
  return db.selectFrom('tenant').select(COLUMNS).orderBy('created_at').orderBy('id').execute()
}

/** Finds a tenant by its name, or null. */
export async function findTenantByName(db: Db, name: string): Promise<TenantRow | null> {
  const row = await db.selectFrom('tenant').select(COLUMNS).where('name', '=', name).executeTakeFirst()
  return row ?? null
}

/**
 * Suspends the tenant, or resumes it. Its credentials are refused within 5 seconds; its accounts, sends and deliveries
 * wait, and go on when it is resumed.
 */
export async function setSuspended(db: Db, tenantId: string, isSuspended: boolean): Promise<void> {
  await db
    .updateTable('tenant')
    .set(
      isSuspended
        ? { suspended_at: sql<Date>`coalesce(suspended_at, clock_timestamp())` }
        : {
            suspended_at: null,
            resumed_at: sql<Date>`case when suspended_at is null then resumed_at else clock_timestamp() end`,
          },
    )
    .where('id', '=', tenantId)
    .execute()
}

/** Selects the ids of the tenants that are suspended, for statements that look for work of all tenants. */
export const suspendedTenants = sql`select id from tenant where suspended_at is not null`

/** Refuses new sends and accounts of the tenant, or allows them again. Every process heeds it at once. */
export async function setPastDue(db: Db, tenantId: string, isOverdue: boolean): Promise<void> {
  await db
    .updateTable('tenant')
    .set({ past_due_at: isOverdue ? sql<Date>`coalesce(past_due_at, clock_timestamp())` : null })
    .where('id', '=', tenantId)
    .execute()
}

/** Turns tracked links of the tenant off, or on again. Every process heeds it at once. */
export async function setLinksOff(db: Db, tenantId: string, isOff: boolean): Promise<void> {
  await db
    .updateTable('tenant')
    .set({ links_off_at: isOff ? sql<Date>`coalesce(links_off_at, clock_timestamp())` : null })
    .where('id', '=', tenantId)
    .execute()
}

/** Whether messages of the tenant may have tracked links. */
export async function hasLinks(db: Db, tenantId: string): Promise<boolean> {
  const row = await db
    .selectFrom('tenant')
    .select('links_off_at')
    .where('id', '=', tenantId)
    .executeTakeFirst()
  return row?.links_off_at === null
}

/** Whether a payment of the tenant is overdue. */
export async function isPastDue(db: Db, tenantId: string): Promise<boolean> {
  const row = await db
    .selectFrom('tenant')
    .select('past_due_at')
    .where('id', '=', tenantId)
    .executeTakeFirst()
  return row?.past_due_at != null
}
