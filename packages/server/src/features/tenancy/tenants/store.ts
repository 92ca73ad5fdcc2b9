import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { newId } from '../../../kit/ids.ts'
import type { Plan } from '../plans/plan.ts'
import { newTenantSettings } from './rules.ts'

export interface TenantRow {
  id: string
  name: string
  suspended_at: Date | null
  /** Since when a payment is overdue: new sends and accounts are refused. */
  past_due_at: Date | null
  created_at: Date
}

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
    .returning(['id', 'name', 'suspended_at', 'past_due_at', 'created_at'])
    .executeTakeFirst()
  return row ?? null
}

/** Lists every tenant of the installation, oldest first. */
export async function listTenants(db: Db): Promise<TenantRow[]> {
  return db
    .selectFrom('tenant')
    .select(['id', 'name', 'suspended_at', 'past_due_at', 'created_at'])
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

/** Finds a tenant by its name, or null. */
export async function findTenantByName(db: Db, name: string): Promise<TenantRow | null> {
  const row = await db
    .selectFrom('tenant')
    .select(['id', 'name', 'suspended_at', 'past_due_at', 'created_at'])
    .where('name', '=', name)
    .executeTakeFirst()
  return row ?? null
}

/** Refuses new sends and accounts of the tenant, or allows them again. Every process heeds it at once. */
export async function setPastDue(db: Db, tenantId: string, isOverdue: boolean): Promise<void> {
  await db
    .updateTable('tenant')
    .set({ past_due_at: isOverdue ? sql<Date>`coalesce(past_due_at, clock_timestamp())` : null })
    .where('id', '=', tenantId)
    .execute()
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
