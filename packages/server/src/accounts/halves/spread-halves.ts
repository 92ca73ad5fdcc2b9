import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import { inTransaction } from '../../events/unit-of-work.ts'
import { FIRST_ID } from '../../kit/ids.ts'
import { abilitiesOf, type AccountKind, followedByKind } from '../../providers/abilities.ts'
import type { AccountView } from '../row.ts'
import { accountViews, findAccountViews } from '../store.ts'
import { DAV_URLS } from './home.ts'
import { type OtherKind, SWITCHES } from './kind.ts'
import { addHalves, lackingHalves } from './rows.ts'

/** Halves of one kind that may be in their first sync at a time before more are added. */
const BEGUN_MAX = 100
/** Accounts that one statement looks at. */
const PAGE_ACCOUNTS = 250

/** A kind that is followed at a provider, and up to which account the halves that an earlier release left out were added. */
interface Walk {
  kind: OtherKind
  provider: AccountKind
  afterId: string
}

/**
 * Adds the halves that accounts of an earlier release lack, since it did not follow them: few at a time, so that their
 * first syncs come behind those of new accounts, which get theirs when they are connected. All accounts are looked at
 * once; from then on it does nothing. It waits while a process of an earlier release runs, which adds none itself.
 * @param wake called with each account that has a new half
 */
export async function spreadHalves(
  db: Db,
  wake: (accountId: string) => void,
  signal: AbortSignal,
): Promise<void> {
  if (await isOlderRunning(db)) return startAgain(db)
  for (const walk of await listUnfinished(db)) await spread(db, walk, wake, signal)
}

async function spread(
  db: Db,
  { kind, provider, ...from }: Walk,
  wake: (accountId: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let room = BEGUN_MAX - (await countBegun(db, kind))
  let afterId: string | null = from.afterId
  while (room > 0 && afterId !== null && !signal.aborted) {
    const page = await readPage(db, { kind, provider, afterId })
    const taken = page.lacking.slice(0, room)
    for (const [tenantId, views] of Map.groupBy(taken, view => view.tenant_id)) {
      const ids = views.map(({ id }) => id)
      for (const id of await addInTenant(db, { tenantId, ids, kind })) wake(id)
    }
    room -= taken.length
    afterId = taken.length < page.lacking.length ? (taken.at(-1)?.id ?? afterId) : page.lastId
    await storePosition(db, { kind, provider, afterId })
  }
}

/**
 * Looks at the next accounts, in the order of their ids.
 * @returns those that lack the half, and the last id that was looked at; null if there are no more accounts
 */
async function readPage(
  db: Db,
  { kind, provider, afterId }: Walk,
): Promise<{ lacking: AccountView[]; lastId: string | null }> {
  const comesWithMailbox = abilitiesOf(provider).hasCalendars
  const { rows } = await sql<{ id: string; tenantId: string; isCandidate: boolean }>`
    with page as (
      select id, tenant_id, provider, deleted_at, settings_override, imap -> 'dav' ->> ${DAV_URLS[kind]} as dav_url
      from account
      where id > ${afterId} order by id limit ${PAGE_ACCOUNTS}
    )
    select page.id, tenant_id as "tenantId",
      provider = ${provider} and (${comesWithMailbox}::boolean or dav_url is not null) and deleted_at is null
        and coalesce(settings_override ->> ${SWITCHES[kind]}, tenant.settings ->> ${SWITCHES[kind]}) = 'true'
        and not exists (select from account_half where account_half.account_id = page.id and kind = ${kind})
        as "isCandidate"
    from page join tenant on tenant.id = tenant_id order by page.id
  `.execute(db)
  const views = await findAccountViews(
    db,
    rows.filter(({ isCandidate }) => isCandidate),
  )
  return {
    lacking: rows
      .map(({ id }) => views.get(id))
      .filter(view => view !== undefined)
      .filter(view => lackingHalves(view).includes(kind)),
    lastId: rows.length < PAGE_ACCOUNTS ? null : (rows.at(-1)?.id ?? null),
  }
}

/** Gives accounts of a tenant the half, unless they have changed meanwhile. @returns the ids of those that got it */
function addInTenant(
  db: Db,
  { tenantId, ids, kind }: { tenantId: string; ids: readonly string[]; kind: OtherKind },
): Promise<string[]> {
  return inTransaction(db, tenantId, async unit => {
    // In the order in which a change of the tenant's settings locks them.
    await unit.sql.selectFrom('tenant').select('id').where('id', '=', tenantId).forShare().execute()
    const views = await accountViews(unit.sql, tenantId)
      .where(sql<boolean>`account.id = any(${[...ids]}::uuid[])`)
      .orderBy('account.id')
      .forNoKeyUpdate('account')
      .execute()
    const lacking = views.filter(view => lackingHalves(view).includes(kind)).map(({ id }) => id)
    await addHalves(unit, lacking, kind)
    return lacking
  })
}

/** Counts halves of a kind that are in their first sync. A half in trouble may stay in it for long, and is not counted. */
async function countBegun(db: Db, kind: OtherKind): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from account_half
    where kind = ${kind} and behind_since is not null and initialized_at is null and owner_instance is not null
      and problem is null and failing_since is null
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** The kinds, besides mail, and the providers at which they are followed now, and were not by an earlier release. */
async function listUnfinished(db: Db): Promise<Walk[]> {
  const followed = followedByKind().filter(({ data }) => data !== 'mail')
  const { rows } = await sql<Walk>`
    select kind, provider, coalesce(after_id, ${FIRST_ID}) as "afterId"
    from unnest(${followed.map(({ data }) => data)}::text[], ${followed.map(({ kind }) => kind)}::text[])
      as followed (kind, provider)
    left join half_spread using (kind, provider)
    where half_spread.kind is null or after_id is not null
  `.execute(db)
  return rows
}

async function storePosition(
  db: Db,
  { kind, provider, afterId }: Omit<Walk, 'afterId'> & { afterId: string | null },
): Promise<void> {
  await db
    .insertInto('half_spread')
    .values({ kind, provider, after_id: afterId })
    .onConflict(row => row.columns(['kind', 'provider']).doUpdateSet({ after_id: afterId }))
    .execute()
}

/** Has all accounts looked at again: those that an earlier release connects or changes may lack halves. */
async function startAgain(db: Db): Promise<void> {
  await db.updateTable('half_spread').set({ after_id: FIRST_ID }).where('after_id', 'is', null).execute()
}

/** Whether a process of an earlier release uses the database: see `processName` of `database/schema-fit.ts`. */
async function isOlderRunning(db: Db): Promise<boolean> {
  const { rows } = await sql<{ isRunning: boolean }>`
    select exists (
      select from pg_stat_activity
      where datname = current_database() and application_name like 'waxwing service, %'
        and ${schemaOf('application_name')} < ${schemaOf("current_setting('application_name')")}
    ) as "isRunning"
  `.execute(db)
  return rows[0]?.isRunning ?? false
}

function schemaOf(name: string) {
  return sql`coalesce(substring(${sql.raw(name)} from ', schema (\\d{4})$')::int, 0)`
}
