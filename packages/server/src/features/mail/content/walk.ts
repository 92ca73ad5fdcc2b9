import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'

/** One statement reads at most this many messages. If only few of them match, many statements follow. */
const LOOKED_AT_MAX = 5000

/** A position in a walk through the messages of an account, newest first. */
export interface WalkPlace {
  receivedAt: Date
  id: string
}

interface WalkedRow {
  id: string
  received_at: Date
}

/**
 * Finds the next wanted messages of a walk, and where to continue: null at the end of the account. One statement does
 * both, so that no message is skipped when others are deleted at the same time.
 * @param below continues below this message; null starts at the newest
 * @param choose selects the wanted rows from the walked ones, called `looked`
 */
export async function walkOn<Row extends WalkedRow>(
  db: Db,
  accountId: string,
  {
    below,
    limit,
    choose,
  }: { below: WalkPlace | null; limit: number; choose: (from: RawBuilder<unknown>) => RawBuilder<Row> },
): Promise<{ found: Row[]; end: WalkPlace | null }> {
  const isShort = sql`listed.is_short`
  const { rows } = await sql<Row & { end_id: string | null; end_received_at: Date }>`
    with found as (
      ${choose(sql`(${walked(accountId, below)} limit ${LOOKED_AT_MAX}) as looked`)}
      order by looked.received_at desc, looked.id desc limit ${limit}
    )
    select found.*, last.id as end_id, last.received_at as end_received_at
    from (select count(*) < ${limit} as is_short from found) as listed
    left join lateral (
      ${walked(accountId, below, isShort)} offset ${LOOKED_AT_MAX - 1} limit 1
    ) as last on true
    left join found on true
    order by found.received_at desc, found.id desc
  `.execute(db)
  const found = rows.filter(({ id }) => id !== null)
  const [first] = rows
  const last = found.length === limit ? found.at(-1) : undefined
  if (last) return { found, end: { receivedAt: last.received_at, id: last.id } }
  const end = first?.end_id ? { receivedAt: first.end_received_at, id: first.end_id } : null
  return { found, end }
}

function walked(accountId: string, below: WalkPlace | null, condition = sql`true`): RawBuilder<unknown> {
  return sql`
    select id, received_at from message
    where account_id = ${accountId} and ${condition}
      ${below === null ? sql`` : sql`and (received_at, id) < (${below.receivedAt}, ${below.id}::uuid)`}
    order by received_at desc, id desc`
}
