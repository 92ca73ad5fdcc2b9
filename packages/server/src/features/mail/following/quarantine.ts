import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../../database/tables.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { type KeyColumns, keyColumns, keyOf } from '../messages/location.ts'
import type { Cursor, MessageKey } from '../../../providers/mail.ts'

/** Raise it when the parser learns to read more: every quarantined message is then tried again at once. */
const PARSER_VERSION = 1
const QUICK_TRIES = 3
const QUICK_RETRY_SECONDS = 60
const SLOW_RETRY_SECONDS = 86_400
/** If there are more, they follow in the same pass. */
export const RETRIES_AT_ONCE = 100

/** Whether a quarantined message is to be tried again. */
export const isDue = sql<boolean>`(next_attempt_at <= clock_timestamp() or parser_version < ${PARSER_VERSION})`

/**
 * Loads how far a source is recorded, and its unreadable messages: the ones to leave alone for now, and the ones due
 * for another try. One statement, since new mail waits for it.
 */
export async function loadFollowed(
  db: Kysely<Tables>,
  accountId: string,
  source: string,
): Promise<{ cursor: Cursor | null; skip: Set<MessageKey>; retry: MessageKey[] }> {
  const { rows } = await sql<{
    cursor: Cursor | null
    quarantined: Array<KeyColumns & { is_due: boolean }> | null
  }>`
    select
      (select cursor from sync_cursor where account_id = ${accountId} and source = ${source}) as cursor,
      (select json_agg(
          json_build_object('uid', uid, 'remote_id', remote_id, 'is_due', ${isDue}) order by next_attempt_at
        ) from quarantined_message where account_id = ${accountId} and source = ${source}) as quarantined
  `.execute(db)
  const { cursor = null, quarantined } = rows[0] ?? {}
  const keys = (quarantined ?? []).map(row => ({ key: keyOf(row)!, isDue: row.is_due }))
  const retry = keys.filter(row => row.isDue).slice(0, RETRIES_AT_ONCE)
  const retried = new Set(retry.map(({ key }) => key))
  return {
    cursor,
    retry: [...retried],
    skip: new Set(keys.flatMap(({ key }) => (retried.has(key) ? [] : [key]))),
  }
}

/** Counts a failed try. After three of them, a minute apart, a message is tried once a day. */
export async function quarantine(
  unit: UnitOfWork,
  accountId: string,
  source: string,
  failed: ReadonlyArray<{ key: MessageKey; reason: string }>,
): Promise<void> {
  if (failed.length === 0) return
  const rows = failed.map(({ key, reason }) => ({ ...keyColumns(key), reason }))
  await sql`
    insert into quarantined_message as held (account_id, source, uid, remote_id, reason, attempts, parser_version,
      next_attempt_at)
    select ${accountId}::uuid, ${source}, uid, remote_id, reason, 1, ${PARSER_VERSION},
      clock_timestamp() + make_interval(secs => ${QUICK_RETRY_SECONDS}::int)
    from json_to_recordset(${JSON.stringify(rows)}::json) as failed (uid bigint, remote_id text, reason text)
    on conflict (account_id, source, uid, remote_id) do update set reason = excluded.reason,
      attempts = held.attempts + 1, parser_version = ${PARSER_VERSION},
      next_attempt_at = clock_timestamp() + make_interval(secs => case
        when held.attempts + 1 < ${QUICK_TRIES} then ${QUICK_RETRY_SECONDS}::int else ${SLOW_RETRY_SECONDS}::int end)
  `.execute(unit.sql)
}

/** Lets the next pass fetch messages that the index lacks. Unreadable messages keep their times. */
export async function requestFetch(
  unit: UnitOfWork,
  accountId: string,
  source: string,
  keys: readonly MessageKey[],
): Promise<void> {
  if (keys.length === 0) return
  await sql`
    insert into quarantined_message (account_id, source, uid, remote_id, reason, attempts, parser_version,
      next_attempt_at)
    select ${accountId}::uuid, ${source}, uid, remote_id, 'is not in the index', 0, ${PARSER_VERSION}, clock_timestamp()
    from json_to_recordset(${JSON.stringify(keys.map(keyColumns))}::json) as lacking (uid bigint, remote_id text)
    on conflict (account_id, source, uid, remote_id) do nothing
  `.execute(unit.sql)
}

/** Forgets messages that could be read after all, or that the provider does not have any more. */
export async function releaseFromQuarantine(
  unit: UnitOfWork,
  accountId: string,
  source: string,
  keys: readonly MessageKey[],
): Promise<void> {
  if (keys.length === 0) return
  await sql`
    delete from quarantined_message as held
    using json_to_recordset(${JSON.stringify(keys.map(keyColumns))}::json) as read (uid bigint, remote_id text)
    where account_id = ${accountId} and source = ${source}
      and held.uid is not distinct from read.uid and held.remote_id is not distinct from read.remote_id
  `.execute(unit.sql)
}

export async function countAllQuarantined(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{
    count: number
  }>`select count(*)::int as count from quarantined_message`.execute(db)
  return rows[0]?.count ?? 0
}
