import type { Db } from '../../../database/pool.ts'
import { newId } from '../../../kit/ids.ts'
import type { Plan } from '../plans/rules.ts'
import { newTenantSettings } from './rules.ts'

export interface TenantRow {
  id: string
  name: string
  suspended_at: Date | null
  created_at: Date
}

/** Makes a tenant with the settings that it begins with under the plan. Null where the name is taken. */
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
    .returning(['id', 'name', 'suspended_at', 'created_at'])
    .executeTakeFirst()
  return row ?? null
}

/** Every tenant of the installation, oldest first. */
export async function listTenants(db: Db): Promise<TenantRow[]> {
  return db
    .selectFrom('tenant')
    .select(['id', 'name', 'suspended_at', 'created_at'])
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

/** A tenant by its name; null where there is none. */
export async function findTenantByName(db: Db, name: string): Promise<TenantRow | null> {
  const row = await db
    .selectFrom('tenant')
    .select(['id', 'name', 'suspended_at', 'created_at'])
    .where('name', '=', name)
    .executeTakeFirst()
  return row ?? null
}
