import { type RawBuilder, sql } from 'kysely'
import { isAfter, type NewestFirst } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'
import type { SearchQuery } from '../../../kit/search-text/query.ts'
import { isoTime, summaryFields } from '../messages/present.ts'
import { ownMailbox } from '../mailboxes/store.ts'
import { messageConditions, type MessageFilters, timeConditions } from '../messages/store.ts'
import { windowStart } from '../messages/sync-window.ts'

/** A result and its position in its band: best first, then the newest. */
export interface Ranked extends NewestFirst {
  json: string
  /** The rank as PostgreSQL writes a `real`, so that nothing is lost. */
  rank: string
}

/** The messages between two times of an account, which are ranked together. */
export interface Band {
  /** Only messages after this one in the order. Null starts at the newest. */
  above: NewestFirst | null
  /** Messages up to this one, included. Null means as many as a band holds. */
  end: NewestFirst | null
  /** Only results after this one. Null starts at the best. */
  behind: { rank: string; time: string; id: string } | null
}

export interface BandSearch {
  query: SearchQuery
  filters: MessageFilters
  band: Band
  /** Maximum number of ranked messages. */
  size: number
  /** Maximum number of messages that are checked if the index of words cannot decide whether they match. */
  looks: number
  /** Maximum number of results. */
  limit: number
}

export interface BandResult {
  ranked: Ranked[]
  /** If more may follow, the last message that was looked at. Otherwise the end of the band, null at the last one. */
  end: NewestFirst | null
  /** Time of the statement, without the wait for a connection. */
  tookMs: number
}

/** A page may need three statements: the index of words, then the list of messages, then fewer messages. */
const TIMEOUT_MS = 1000
/** Time limit for a band that was read before, since it must be read again. */
const AGAIN_TIMEOUT_MS = 2000
/** A query of more words gets less time: in a large account, listing it is often in vain. */
const MANY_WORDS = 8
const MANY_WORDS_TIMEOUT_MS = 400
/**
 * The index finds the messages that may match and when they came; documents are then read for as many as a band holds.
 * Without these settings, the planner would scan the table or the index a second time.
 */
const SETTINGS = Object.entries({
  enable_seqscan: 'off',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  plan_cache_mode: 'force_custom_plan',
  // With less memory, the index result for a million messages would be lossy: it would name only pages, all of whose
  // documents would be read.
  work_mem: '32MB',
})

/** Throws PostgreSQL's 57014 if a search takes too long. */
export async function searchBand(db: Db, accountId: string, search: BandSearch): Promise<BandResult> {
  return db.transaction().execute(async tx => {
    const settings = [['statement_timeout', String(timeoutOf(search))], ...SETTINGS].map(
      ([name, value]) => sql`set_config(${name}, ${value}, true)`,
    )
    await sql`select ${sql.join(settings)}`.execute(tx)
    const begunAt = performance.now()
    const { rows } = await bandStatement(accountId, search).execute(tx)
    const [first] = rows
    return {
      tookMs: performance.now() - begunAt,
      ranked: rows.flatMap(({ json, rank, time, id }) => (json === null ? [] : [{ json, rank, time, id }])),
      end: first?.is_full ? { time: first.end_time, id: first.end_id } : search.band.end,
    }
  })
}

/** Time limit of the statement in milliseconds. */
export function timeoutOf({ query: { loose, words }, band }: Pick<BandSearch, 'query' | 'band'>): number {
  if (band.end !== null) return AGAIN_TIMEOUT_MS
  return loose !== null && words > MANY_WORDS ? MANY_WORDS_TIMEOUT_MS : TIMEOUT_MS
}

interface BandRow {
  is_full: boolean
  end_time: string
  end_id: string
  json: string | null
  rank: string
  time: string
  id: string
}

/** Returns one row for each result, or one row without a result if nothing matches. */
export function bandStatement(accountId: string, search: BandSearch): RawBuilder<BandRow> {
  const { query, filters, band, size, limit } = search
  const rank = query.ranked === null ? sql`0::real` : sql`ts_rank(document, ${query.ranked}::tsquery)`
  const looks = lookAt(query, filters)
  const foundMax = looks.length === 0 ? size : search.looks
  // A band whose end is known is read without this limit, or results would repeat.
  const atMost = (count: number) => (band.end === null ? sql`limit ${count}` : sql``)
  return sql<BandRow>`
    with found as materialized (${findLoosely(accountId, search)} ${atMost(foundMax)}),
    matching as materialized (select found.* from found ${sql.join(looks, sql` `)} ${atMost(size)}),
    judged as (
      select matching.message_id, matching.received_at, words.rank
      from matching cross join lateral (
        select ${rank} as rank from message_search where message_search.message_id = matching.message_id offset 0
      ) as words
      where ${isBehind(band.behind)}
      order by words.rank desc, matching.received_at desc, matching.message_id desc
      limit ${limit}
    ),
    page as (
      select judged.*, row_to_json(summary)::text as json
      from judged cross join lateral (
        select ${summaryFields} from message where message.id = judged.message_id
      ) as summary
    ),
    looked as (
      select ${band.end === null} and (matched.is_full or listed.is_full) as is_full, last.*
      from (select count(*) >= ${size} as is_full from matching) as matched
      cross join (select count(*) >= ${foundMax} as is_full from found) as listed
      left join lateral (
        select * from matching where matched.is_full union all select * from found where not matched.is_full
        order by received_at, message_id limit 1
      ) as last on true
    )
    select looked.is_full, ${iso('looked.received_at')} as end_time, looked.message_id as end_id,
      page.json, page.rank::text as rank, ${iso('page.received_at')} as time, page.message_id as id
    from looked left join page on true
    order by page.rank desc, page.received_at desc, page.message_id desc
  `
}

function isBehind(behind: Band['behind']): RawBuilder<boolean> {
  if (behind === null) return sql`true`
  return sql`(words.rank, matching.received_at, matching.message_id)
    < (${behind.rank}::real, ${behind.time}::timestamptz, ${behind.id}::uuid)`
}

const iso = (column: string) => sql.raw(isoTime(column))

/** The messages of the band that may match, newest first. */
function findLoosely(accountId: string, { query, filters, band }: BandSearch): RawBuilder<unknown> {
  const time = sql`search.received_at`
  const conditions = [
    sql`${time} >= ${windowStart(accountId)}`,
    isAfter(band.above, { time: 'search.received_at', id: 'search.message_id' }),
    ...timeConditions(filters, time),
  ]
  const { end } = band
  if (end) conditions.push(sql`(${time}, search.message_id) >= (${end.time}::timestamptz, ${end.id}::uuid)`)
  const walk =
    query.loose === null ? walkThrough(accountId, filters) : searchWords(accountId, query.loose, filters)
  return sql`
    select search.message_id, search.received_at from ${walk}
    and ${sql.join(conditions, sql` and `)}
    order by search.received_at desc, search.message_id desc`
}

function searchWords(accountId: string, loose: string, { mailboxId }: MessageFilters): RawBuilder<unknown> {
  const held = sql`join message_mailbox as held
    on held.mailbox_id = ${mailboxId} and held.received_at = search.received_at
    and held.message_id = search.message_id`
  return sql`message_search as search ${mailboxId === undefined ? sql`` : held}
    where search.account_id = ${accountId} and search.document @@ ${loose}::tsquery`
}

/** All messages, in the order of an index. */
function walkThrough(accountId: string, { mailboxId }: MessageFilters): RawBuilder<unknown> {
  if (mailboxId !== undefined)
    return sql`message_mailbox as search where search.mailbox_id = ${ownMailbox(accountId, mailboxId)}`
  return sql`(select id as message_id, account_id, received_at from message) as search
    where search.account_id = ${accountId}`
}

/** Joins that keep only actual matches. They read `found` in its order, so that they end with a full band. */
function lookAt(query: SearchQuery, filters: MessageFilters): RawBuilder<unknown>[] {
  const joins: RawBuilder<unknown>[] = []
  const ofMessage = messageConditions(filters)
  if (ofMessage.length > 0)
    joins.push(sql`cross join lateral (
      select from message where message.id = found.message_id and ${sql.join(ofMessage, sql` and `)} offset 0
    ) as fitting`)
  if (!query.isLoose)
    joins.push(sql`cross join lateral (
      select from message_search as search
      where search.message_id = found.message_id and search.document @@ ${query.strict}::tsquery offset 0
    ) as worded`)
  return joins
}
