import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { FIRST_ID } from '../../../kit/ids.ts'
import { recordLiveAccounts } from '../../tenancy/usage/store.ts'

/** Accounts that one statement reads. */
const PAGE_ACCOUNTS = 200
/** A sample that has read this many ends with the tenant at hand. The next one goes on behind it. */
const SAMPLE_ACCOUNTS_MAX = 200_000

/** Comes after every id. */
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Progress of the samples of this process. */
export interface LiveWalk {
  /** Tenants up to this id are counted. */
  afterTenantId: string
}

export function beginLiveWalk(): LiveWalk {
  return { afterTenantId: FIRST_ID }
}

interface Counted {
  tenantId: string
  /** Active accounts of the page, 0 if the tenant is suspended. */
  live: number
  /** All accounts of the page. */
  read: number
  lastId: string
}

/**
 * Notes how many active accounts tenants have now: all tenants, or in a large installation the next ones, so that a
 * sample does not read more because there are more accounts. A tenant is always counted as a whole.
 */
export async function sampleLiveAccounts(db: Db, walk: LiveWalk, signal: AbortSignal): Promise<void> {
  let read = 0
  let after = { tenantId: walk.afterTenantId, id: LAST_ID }
  /** Active accounts so far of the tenant at which the last page ended. */
  let begun = 0
  while (!signal.aborted) {
    const page = await countPage(db, after)
    const isLast = page.reduce((sum, counted) => sum + counted.read, 0) < PAGE_ACCOUNTS
    const counted = page.map(({ tenantId, live }) =>
      tenantId === after.tenantId ? { tenantId, live: live + begun } : { tenantId, live },
    )
    if (page[0]?.tenantId !== after.tenantId) counted.unshift({ tenantId: after.tenantId, live: begun })
    const open = isLast ? undefined : counted.pop()
    await recordLiveAccounts(db, counted)
    walk.afterTenantId = isLast ? FIRST_ID : (counted.at(-1)?.tenantId ?? walk.afterTenantId)
    read += PAGE_ACCOUNTS
    const last = page.at(-1)
    if (!open || !last || (read >= SAMPLE_ACCOUNTS_MAX && counted.length > 0)) return
    begun = open.live
    after = { tenantId: last.tenantId, id: last.lastId }
  }
}

/** Counts the next accounts by their tenants, in the order of the ids of these. */
async function countPage(db: Db, after: { tenantId: string; id: string }): Promise<Counted[]> {
  const { rows } = await sql<Counted>`
    select page.tenant_id as "tenantId", count(*)::int as read, (array_agg(page.id order by page.id desc))[1] as "lastId",
      count(*) filter (where page.status = 'active' and page.deleted_at is null and tenant.suspended_at is null)::int
        as live
    from (
      select tenant_id, id, status, deleted_at from account
      where (tenant_id, id) > (${after.tenantId}::uuid, ${after.id}::uuid)
      order by tenant_id, id limit ${PAGE_ACCOUNTS}
    ) as page join tenant on tenant.id = page.tenant_id
    group by page.tenant_id order by page.tenant_id
  `.execute(db)
  return rows
}
