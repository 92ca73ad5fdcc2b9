import type { Module } from '@waxwing/contract/operation.ts'
import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { COLUMNS, type PlanTable } from '../../../database/tables.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { newId } from '../../../kit/ids.ts'
import type { Plan, PlanLimits } from './plan.ts'

/** Creates a plan. Returns null if the name is taken. */
export async function createPlan(db: Db, name: string, limits: PlanLimits): Promise<Plan | null> {
  const row = await db
    .insertInto('plan')
    .values({ id: newId(), name, ...columnsOf(limits) })
    .onConflict(target => target.column('name').doNothing())
    .returning(COLUMNS.plan)
    .executeTakeFirst()
  return row ? planOf(row) : null
}

/** Changes the named limits of a plan. */
export async function updatePlan(db: Db, id: string, limits: Partial<PlanLimits>): Promise<Plan> {
  return db.transaction().execute(async tx => {
    const row = await tx
      .selectFrom('plan')
      .select(COLUMNS.plan)
      .where('id', '=', id)
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    const plan = planOf(row)
    const changed = { ...plan, limits: { ...plan.limits, ...limits } }
    await tx.updateTable('plan').set(columnsOf(changed.limits)).where('id', '=', id).execute()
    return changed
  })
}

/** Lists the ids of the tenants that have the plan. */
export async function listTenantsOfPlan(db: Db, id: string): Promise<string[]> {
  const rows = await db.selectFrom('tenant').select('id').where('plan_id', '=', id).orderBy('id').execute()
  return rows.map(row => row.id)
}

/** Lists every plan, oldest first, with the names of its tenants. */
export async function listPlans(db: Db): Promise<Array<Plan & { tenants: string[] }>> {
  const rows = await db.selectFrom('plan').select(COLUMNS.plan).orderBy('created_at').orderBy('id').execute()
  const tenants = await db
    .selectFrom('tenant')
    .select(['name', 'plan_id'])
    .where('plan_id', 'is not', null)
    .orderBy('name')
    .execute()
  const byPlan = Map.groupBy(tenants, tenant => tenant.plan_id)
  return rows.map(row => ({ ...planOf(row), tenants: (byPlan.get(row.id) ?? []).map(({ name }) => name) }))
}

export async function findPlanByName(db: Db, name: string): Promise<Plan | null> {
  const row = await db.selectFrom('plan').select(COLUMNS.plan).where('name', '=', name).executeTakeFirst()
  return row ? planOf(row) : null
}

/** Like `findTenantPlan`, but keeps the plan's limits as they are until the transaction ends. Lock the tenant before it. */
export async function holdTenantPlan(unit: UnitOfWork): Promise<Plan | null> {
  const row = await unit.sql
    .selectFrom('tenant')
    .innerJoin('plan', 'plan.id', 'tenant.plan_id')
    .select(COLUMNS.plan)
    .where('tenant.id', '=', unit.tenantId)
    .forShare('plan')
    .executeTakeFirst()
  return row ? planOf(row) : null
}

/** The plan of a tenant. Null if it has none, which means no limits. */
export async function findTenantPlan(db: Db, tenantId: string): Promise<Plan | null> {
  const row = await db
    .selectFrom('tenant')
    .innerJoin('plan', 'plan.id', 'tenant.plan_id')
    .select(COLUMNS.plan)
    .where('tenant.id', '=', tenantId)
    .executeTakeFirst()
  return row ? planOf(row) : null
}

/** The condition that a plan includes the module; true without a plan. */
function includesModule(module: Module): RawBuilder<boolean> {
  return sql`coalesce(${module}::text = any(plan.modules), true)`
}

/** Whether the plan of the tenant includes the module. */
export async function findModule(db: Db, tenantId: string, module: Module): Promise<boolean> {
  const { rows } = await sql<{ is_included: boolean }>`
    select ${includesModule(module)} as is_included
    from tenant left join plan on plan.id = tenant.plan_id where tenant.id = ${tenantId}
  `.execute(db)
  return rows[0]?.is_included ?? false
}

/** Like `findTenantPlan`, but locks the plan against other transactions of the tenant. Lock it before any account. */
export async function lockTenantPlan(unit: UnitOfWork): Promise<Plan | null> {
  await unit.sql.selectFrom('tenant').select('id').where('id', '=', unit.tenantId).forNoKeyUpdate().execute()
  return findTenantPlan(unit.sql, unit.tenantId)
}

export async function updateTenantPlan(unit: UnitOfWork, planId: string | null): Promise<void> {
  await unit.sql.updateTable('tenant').set({ plan_id: planId }).where('id', '=', unit.tenantId).execute()
}

/**
 * Bytes that a tenant may still store. Negative if a smaller plan was assigned later; SQL null if the plan has no
 * limit.
 */
export function storageRoom(tenantId: string): RawBuilder<string | null> {
  return sql`(
    select plan.storage_bytes - coalesce(used.bytes, 0)
    from tenant join plan on plan.id = tenant.plan_id left join tenant_storage as used on used.tenant_id = tenant.id
    where tenant.id = ${tenantId})`
}

/** Like `storageRoom`; `Infinity` if there is no limit. */
export async function findStorageRoom(db: Db, tenantId: string): Promise<number> {
  const { rows } = await sql<{ room: string | null }>`select ${storageRoom(tenantId)} as room`.execute(db)
  const room = rows[0]?.room ?? null
  return room === null ? Infinity : Number(room)
}

/** Bytes of stored bodies of a tenant. */
export async function findStoredBytes(db: Db, tenantId: string): Promise<number> {
  const row = await db
    .selectFrom('tenant_storage')
    .select('bytes')
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst()
  return Number(row?.bytes ?? 0)
}

/** Counts the bytes that all tenants store together, and the tenants that reached the limit of their plan. */
export async function measureStorage(db: Db): Promise<{ bytes: number; fullTenants: number }> {
  const { rows } = await sql<{ bytes: number; fullTenants: number }>`
    select coalesce(sum(used.bytes), 0)::float8 as bytes,
      count(*) filter (where used.bytes >= plan.storage_bytes)::int as "fullTenants"
    from tenant_storage as used join tenant on tenant.id = used.tenant_id left join plan on plan.id = tenant.plan_id
  `.execute(db)
  return rows[0] ?? { bytes: 0, fullTenants: 0 }
}

function columnsOf(limits: PlanLimits) {
  return {
    api_calls_per_minute: limits.apiCallsPerMinute,
    api_calls_per_minute_per_key: limits.apiCallsPerMinutePerKey,
    max_accounts: limits.maxAccounts,
    body_storage_allowed: limits.bodyStorageAllowed,
    storage_bytes: limits.storageBytes,
    sends_per_day: limits.sendsPerDay,
    webhook_endpoints: limits.webhookEndpoints,
    modules: limits.modules === null ? null : [...limits.modules],
  }
}

function planOf(row: Selectable<PlanTable>): Plan {
  return {
    id: row.id,
    name: row.name,
    limits: {
      apiCallsPerMinute: row.api_calls_per_minute,
      apiCallsPerMinutePerKey: row.api_calls_per_minute_per_key,
      maxAccounts: row.max_accounts,
      sendsPerDay: row.sends_per_day,
      webhookEndpoints: row.webhook_endpoints,
      bodyStorageAllowed: row.body_storage_allowed,
      // The command line accepts only numbers that are exact in JavaScript.
      storageBytes: row.storage_bytes === null ? null : Number(row.storage_bytes),
      // Only the command line writes them.
      modules: row.modules as Module[] | null,
    },
  }
}
