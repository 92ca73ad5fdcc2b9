import type { EventType } from '@waxwing/contract/events.ts'
import { type RawBuilder, sql } from 'kysely'
import { rowsToRead } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'
import { eventJson } from './present.ts'

/** Selects events of a tenant. */
export interface FeedFilter {
  tenantId: string
  /** Only events of these accounts, and none without an account. Null selects all events of the tenant. */
  accountIds: readonly string[] | null
  types: readonly EventType[] | null
}

/** A position in the feed: an event's id, and the history that it belongs to (see database/feed-epoch.ts). */
export interface FeedPosition {
  id: string
  epoch: string
}

export interface FeedItem {
  id: string
  type: EventType
  /** The whole event as JSON, in one line. */
  json: string
}

/** A page of the feed: events, oldest first, and the id up to which the feed has been read. */
export interface FeedPage {
  items: readonly FeedItem[]
  readUpTo: string
  /** Whether the feed goes on after `readUpTo`, though perhaps with nothing that fits. */
  hasMore: boolean
  /** The current history of the feed. */
  epoch: string
  /** The largest id that was ever taken in it. */
  lastId: string
}

/** Maximum number of events scanned for a page, so that rare types cost no more than a page of all types. */
const SCANNED_EVENTS_MAX = 5_000

/**
 * Reads the feed after the event `after`, which need not exist any more.
 *
 * `appendEvents` makes ids visible in order, so one snapshot that shows an id shows all smaller ones: nothing can
 * appear before `readUpTo` later. Ids are ordered as numbers; as texts, 10 would come before 9.
 */
export async function readFeed(db: Db, filter: FeedFilter, after: string, limit: number): Promise<FeedPage> {
  const conditions = [sql`event.tenant_id = ${filter.tenantId}`, sql`event.id > ${after}`]
  const wanted = wantedOnly(filter)
  // One statement reads the last id and the events, hence one snapshot: nothing can appear before that id in between.
  const { rows } = await sql<Pick<FeedPage, 'epoch' | 'lastId'> & FeedRow>`
    with bound as (
      select max(scanned.id) as id, count(*)::int as count from (
        select event.id from event where ${sql.join(conditions, sql` and `)}
        order by event.id limit ${sql.raw(String(wanted.length === 0 ? 0 : SCANNED_EVENTS_MAX))}
      ) as scanned
    )
    select bound.id as bound, bound.count as scanned, listed.id, listed.type, listed.json,
      (select epoch from feed_epoch) as epoch, (select last_value from event_id) as "lastId"
    from bound left join lateral (
      select event.id, event.type, ${eventJson} as json from event
      where ${sql.join([...conditions, ...wanted, ...(wanted.length === 0 ? [] : [sql`event.id <= bound.id`])], sql` and `)}
      order by event.id limit ${rowsToRead(limit)}
    ) as listed on true
    order by listed.id
  `.execute(db)
  const events = rows.flatMap(({ id, type, json }) => (id === null ? [] : [{ id, type, json }]))
  const page = events.slice(0, limit)
  const isThrough = events.length <= limit
  const hasMore = !isThrough || rows[0]?.scanned === SCANNED_EVENTS_MAX
  const readUpTo = (isThrough ? rows[0]?.bound : null) ?? page.at(-1)?.id ?? after
  const { epoch = '', lastId = '0' } = rows[0] ?? {}
  return { items: page, readUpTo, hasMore, epoch, lastId }
}

type FeedRow = Omit<FeedItem, 'id'> & { bound: string | null; scanned: number; id: string | null }

function wantedOnly({ accountIds, types }: FeedFilter): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = []
  if (accountIds) conditions.push(sql`event.account_id = any(${accountIds}::uuid[])`)
  if (types) conditions.push(sql`event.type = any(${types}::text[])`)
  return conditions
}

/** The current end of the feed; the id '0' if it never had an event. */
export async function findFeedHead(db: Db, tenantId: string): Promise<FeedPosition> {
  const { rows } = await sql<FeedPosition>`
    select epoch, coalesce(
      (select id from event where tenant_id = ${tenantId} order by event.id desc limit 1), 0
    ) as id from feed_epoch
  `.execute(db)
  return rows[0] ?? { id: '0', epoch: '' }
}

/** Ids jump at least this far when a database is restored (see database/feed-epoch.ts), and nowhere else. */
const RESTORE_IDS_MIN = 1_000_000_000n

/**
 * Whether an id that a reader holds lies in the gap that a restore left: the events there are lost. @param lastId the
 * largest id of the feed
 */
export async function isLost(db: Db, tenantId: string, id: string, lastId: string): Promise<boolean> {
  const { rows } = await sql<{ isKnown: boolean; next: string | null }>`
    select exists (select from event where tenant_id = ${tenantId} and id = ${id}) as "isKnown",
      (select id from event where tenant_id = ${tenantId} and id > ${id} order by event.id limit 1) as next
  `.execute(db)
  const { isKnown = false, next = null } = rows[0] ?? {}
  return !isKnown && BigInt(next ?? lastId) - BigInt(id) >= RESTORE_IDS_MIN
}
