import { type RawBuilder, sql } from 'kysely'
import { bodyStorage } from '@waxwing/contract/shapes.ts'
import type { TenantSettings } from '@waxwing/contract/settings.ts'
import type { Db } from '../../database/pool.ts'
import { refuse } from '../refuse.ts'
import { findTenantPlan } from './store.ts'

type BodyStorage = TenantSettings['bodyStorage']

/** Octets that a tenant may still store, below 0 where a smaller plan came later; SQL null where its plan has no limit. */
export function storageRoom(tenantId: string): RawBuilder<string | null> {
  return sql`(
    select plan.storage_bytes - coalesce(used.bytes, 0)
    from tenant join plan on plan.id = tenant.plan_id left join tenant_storage as used on used.tenant_id = tenant.id
    where tenant.id = ${tenantId})`
}

/** As `storageRoom`; `Infinity` where there is no limit. */
export async function findStorageRoom(db: Db, tenantId: string): Promise<number> {
  const { rows } = await sql<{ room: string | null }>`select ${storageRoom(tenantId)} as room`.execute(db)
  const room = rows[0]?.room ?? null
  return room === null ? Infinity : Number(room)
}

/**
 * Refuses to set `bodyStorage` to what the plan forbids, and to what stores more than `before` where the plan's storage
 * is used up.
 */
export async function requireBodyStorage(
  db: Db,
  tenantId: string,
  { before, after }: { before: BodyStorage; after: BodyStorage | undefined },
): Promise<void> {
  if (after === undefined || after === 'none') return
  const plan = await findTenantPlan(db, tenantId)
  if (!plan) return
  if (!plan.limits.bodyStorageAllowed) refuse('plan_limit_storage')
  const isMore = bodyStorage.options.indexOf(after) > bodyStorage.options.indexOf(before)
  if (!isMore || (await findStorageRoom(db, tenantId)) > 0) return
  refuse('plan_limit_storage', undefined, {
    message: `The plan's ${plan.limits.storageBytes} bytes of storage are used up. Set bodyStorage to none, or change the plan.`,
  })
}

/** What all tenants store together, in octets, and how many of them reached the limit of their plan. */
export async function measureStorage(db: Db): Promise<{ bytes: number; fullTenants: number }> {
  const { rows } = await sql<{ bytes: number; fullTenants: number }>`
    select coalesce(sum(used.bytes), 0)::float8 as bytes,
      count(*) filter (where used.bytes >= plan.storage_bytes)::int as "fullTenants"
    from tenant_storage as used join tenant on tenant.id = used.tenant_id left join plan on plan.id = tenant.plan_id
  `.execute(db)
  return rows[0] ?? { bytes: 0, fullTenants: 0 }
}
