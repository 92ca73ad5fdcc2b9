import type { EventType } from '@waxwing/contract/events.ts'
import { type RawBuilder, sql } from 'kysely'
import { rowsToRead } from '../../database/page.ts'
import type { Db } from '../../database/pool.ts'
import { isoTime } from '../messages/present.ts'

/** Whose events, and which. */
export interface FeedFilter {
  tenantId: string
  /** Only events of these accounts, and none that concern no account; null: all events of the tenant. */
  accountIds: readonly string[] | null
  types: readonly EventType[] | null
}

/** A page of the feed: events as JSON texts, oldest first, and the id up to which the feed has been read. */
export interface FeedPage {
  items: string[]
  readUpTo: string
}

/** At most so many events are looked through for a page, so that rare types cost no more than a page of all. */
const SCANNED_EVENTS_MAX = 5_000

/**
 * Reads the feed on from the event `after`, which need not exist any more.
 *
 * `appendEvents` makes ids visible in their order, so one snapshot that shows an id shows all that are smaller: nothing
 * can appear behind `readUpTo` later. Ids are ordered as numbers; as texts, 10 comes before 9.
 */
export async function readFeed(db: Db, filter: FeedFilter, after: string, limit: number): Promise<FeedPage> {
  const conditions = [sql`event.tenant_id = ${filter.tenantId}`, sql`event.id > ${after}`]
  const wanted = wantedOnly(filter)
  // The bound and the events are of one statement, hence of one snapshot: nothing gets below the bound in between.
  const { rows } = await sql<{ bound: string | null; id: string | null; json: string }>`
    with bound as (
      select max(scanned.id) as id from (
        select event.id from event where ${sql.join(conditions, sql` and `)}
        order by event.id limit ${sql.raw(String(wanted.length === 0 ? 0 : SCANNED_EVENTS_MAX))}
      ) as scanned
    )
    select bound.id as bound, listed.id, listed.json from bound left join lateral (
      select event.id, row_to_json((select shown from (select ${EVENT_FIELDS}) as shown))::text as json from event
      where ${sql.join([...conditions, ...wanted, ...(wanted.length === 0 ? [] : [sql`event.id <= bound.id`])], sql` and `)}
      order by event.id limit ${rowsToRead(limit)}
    ) as listed on true
    order by listed.id
  `.execute(db)
  const events = rows.filter(row => row.id !== null)
  const page = events.slice(0, limit)
  const isThrough = events.length <= limit
  const readUpTo = (isThrough ? rows[0]?.bound : null) ?? page.at(-1)?.id ?? after
  return { items: page.map(({ json }) => json), readUpTo }
}

function wantedOnly({ accountIds, types }: FeedFilter): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = []
  if (accountIds) conditions.push(sql`event.account_id = any(${accountIds}::uuid[])`)
  if (types) conditions.push(sql`event.type = any(${types}::text[])`)
  return conditions
}

const EVENT_FIELDS = sql.raw(
  `event.id::text as id, event.type, event.account_id as "accountId",
   ${isoTime('event.created_at')} as "createdAt", event.data`,
)

/** The id up to which the feed exists now; '0' where it never had an event. */
export async function findFeedHead(db: Db, tenantId: string): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    select id from event where tenant_id = ${tenantId} order by event.id desc limit 1
  `.execute(db)
  return rows[0]?.id ?? '0'
}
