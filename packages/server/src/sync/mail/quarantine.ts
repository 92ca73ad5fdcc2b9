import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/tables.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import type { MessageKey } from '../../providers/mail.ts'

/** Raise it when the parser learns to read more: every quarantined message is then tried again at once. */
export const PARSER_VERSION = 1
const QUICK_TRIES = 3
const QUICK_RETRY_SECONDS = 60
const SLOW_RETRY_SECONDS = 86_400
const RETRIES_AT_ONCE = 100

/** Of a quarantined message: it is to be tried again. */
export const isDue = sql<boolean>`(next_attempt_at <= clock_timestamp() or parser_version < ${PARSER_VERSION})`

/** Messages of a mailbox that could not be read: those to leave alone for now, and those due for another try. */
export async function loadQuarantine(
  db: Kysely<Tables>,
  mailboxId: string,
): Promise<{ skip: Set<MessageKey>; retry: number[] }> {
  const { rows } = await sql<{ uid: string; is_due: boolean }>`
    select uid, ${isDue} as is_due
    from quarantined_message where mailbox_id = ${mailboxId} order by next_attempt_at
  `.execute(db)
  const due = rows.filter(row => row.is_due).slice(0, RETRIES_AT_ONCE)
  const retry = due.map(row => Number(row.uid))
  return { retry, skip: new Set(rows.map(row => Number(row.uid)).filter(uid => !retry.includes(uid))) }
}

/** Notes a failed try. After three of them, a minute apart, a message is tried once a day. */
export async function quarantine(
  unit: UnitOfWork,
  accountId: string,
  mailboxId: string,
  failed: ReadonlyArray<{ uid: number; reason: string }>,
): Promise<void> {
  if (failed.length === 0) return
  await sql`
    insert into quarantined_message as held (account_id, mailbox_id, uid, reason, attempts, parser_version,
      next_attempt_at)
    select ${accountId}::uuid, ${mailboxId}::uuid, uid, reason, 1, ${PARSER_VERSION},
      clock_timestamp() + make_interval(secs => ${QUICK_RETRY_SECONDS}::int)
    from unnest(
      ${failed.map(({ uid }) => uid)}::bigint[], ${failed.map(({ reason }) => reason)}::text[]
    ) as failed (uid, reason)
    on conflict (mailbox_id, uid) do update set reason = excluded.reason, attempts = held.attempts + 1,
      parser_version = ${PARSER_VERSION},
      next_attempt_at = clock_timestamp() + make_interval(secs => case
        when held.attempts + 1 < ${QUICK_TRIES} then ${QUICK_RETRY_SECONDS}::int else ${SLOW_RETRY_SECONDS}::int end)
  `.execute(unit.sql)
}

/** Forgets messages that could be read after all, or that the provider has no longer. */
export async function releaseFromQuarantine(
  unit: UnitOfWork,
  mailboxId: string,
  uids: readonly number[],
): Promise<void> {
  if (uids.length === 0) return
  await sql`
    delete from quarantined_message where mailbox_id = ${mailboxId} and uid = any(${uids}::bigint[])
  `.execute(unit.sql)
}

export async function countAllQuarantined(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{
    count: number
  }>`select count(*)::int as count from quarantined_message`.execute(db)
  return rows[0]?.count ?? 0
}
