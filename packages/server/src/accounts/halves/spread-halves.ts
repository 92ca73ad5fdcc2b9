import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import { inTransaction } from '../../events/unit-of-work.ts'
import { KINDS_WITH_CALENDARS } from '../../providers/abilities.ts'
import { lockAccount } from '../store.ts'
import { FOLLOWED_KINDS, type HalfKind } from './kind.ts'
import { addHalves, lackingHalves } from './rows.ts'

/** Halves of one kind that may be in their first sync at a time before more are added. */
const BEGUN_MAX = 100

/** Columns and settings by which a kind is switched on. */
const SWITCHES: Partial<Record<HalfKind, { setting: string; url: string; granted: RawBuilder<boolean> }>> = {
  calendar: {
    setting: 'calendarEnabled',
    url: 'calendarUrl',
    granted: sql`granted_calendar is distinct from false`,
  },
  contacts: {
    setting: 'contactsEnabled',
    url: 'contactsUrl',
    granted: sql`granted_contacts is distinct from false`,
  },
}

/**
 * Adds halves that are switched on and that accounts of an earlier release lack: few at a time, so that their first syncs
 * come behind those of new accounts, which get theirs when they are connected.
 * @param wake called with each account that has a new half
 */
export async function spreadHalves(
  db: Db,
  wake: (accountId: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const kind of FOLLOWED_KINDS) {
    const room = kind === 'mail' ? 0 : BEGUN_MAX - (await countBegun(db, kind))
    for (const { id, tenantId } of room > 0 ? await listLacking(db, kind, room) : []) {
      if (signal.aborted) return
      const isAdded = await inTransaction(db, tenantId, async unit => {
        const account = await lockAccount(unit, id)
        if (!account || !lackingHalves(account).includes(kind)) return false
        await addHalves(unit, [id], kind)
        return true
      })
      if (isAdded) wake(id)
    }
  }
}

/** Counts halves of a kind that are in their first sync. A half in trouble may stay in it for long, and is not counted. */
async function countBegun(db: Db, kind: HalfKind): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from account_half
    where kind = ${kind} and behind_since is not null and initialized_at is null and owner_instance is not null
      and problem is null and failing_since is null
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** Active accounts for which a kind is switched on and that have no half of it, as far as SQL can say. */
async function listLacking(
  db: Db,
  kind: HalfKind,
  limit: number,
): Promise<Array<{ id: string; tenantId: string }>> {
  const { setting, url, granted } = SWITCHES[kind] ?? { setting: '', url: '', granted: sql<boolean>`false` }
  const { rows } = await sql<{ id: string; tenantId: string }>`
    select account.id, tenant_id as "tenantId" from account join tenant on tenant.id = tenant_id
    where status = 'active' and deleted_at is null and ${granted}
      and (provider = any(${[...KINDS_WITH_CALENDARS]}::text[]) or imap -> 'dav' ->> ${url} is not null)
      and coalesce(settings_override ->> ${setting}, tenant.settings ->> ${setting}) = 'true'
      and not exists (select from account_half where account_half.account_id = account.id and kind = ${kind})
    order by account.id limit ${limit}
  `.execute(db)
  return rows
}
