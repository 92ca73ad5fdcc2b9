import { type RawBuilder, sql } from 'kysely'
import type { OutboxStatus } from '@waxwing/contract/sending/outbox.ts'
import { isAfter, type NewestFirst, rowsToRead } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'
import { suspendedTenants } from '../../tenancy/tenants/store.ts'
import { type EntryRow, entryColumns, entryCopy } from './present.ts'

/** An entry of the account; null if there is none of this id. An invitation is no entry. */
export async function findEntry(db: Db, accountId: string, id: string): Promise<EntryRow | null> {
  const { rows } = await sql<EntryRow>`
    select ${entryColumns} from outbox ${entryCopy}
    where outbox.id = ${id} and outbox.account_id = ${accountId} and outbox.origin = 'send'
  `.execute(db)
  return rows[0] ?? null
}

export interface EntryFilters {
  status?: readonly OutboxStatus[] | undefined
  reference?: string | undefined
  mailMergeId?: string | undefined
  /** Included. */
  since?: Date | undefined
  /** Not included. */
  until?: Date | undefined
}

/** A page of entries and at least one more, newest first. */
export async function listEntries(
  db: Db,
  accountId: string,
  list: { filters: EntryFilters; position: NewestFirst | null; limit: number },
): Promise<EntryRow[]> {
  const { filters, position, limit } = list
  const { rows } = await sql<EntryRow>`
    select ${entryColumns} from (
      select * from outbox
      where account_id = ${accountId} and origin = 'send' and ${isAfter(position, { time: 'created_at', id: 'id' })}
        and ${sql.join(conditionsOf(filters), sql` and `)}
      order by created_at desc, id desc limit ${rowsToRead(limit)}
    ) as outbox ${entryCopy}
    order by outbox.created_at desc, outbox.id desc
  `.execute(db)
  return rows
}

function conditionsOf({ status, reference, mailMergeId, since, until }: EntryFilters): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = [sql`true`]
  if (status) conditions.push(sql`status = any(${[...status]}::text[])`)
  // Most are sent, so the others have an index of their own.
  if (status && !status.includes('sent')) conditions.push(sql`status <> 'sent'`)
  if (reference !== undefined) conditions.push(sql`reference = ${reference}`)
  if (mailMergeId !== undefined) conditions.push(sql`mail_merge_id = ${mailMergeId}`)
  if (since) conditions.push(sql`created_at >= ${since}`)
  if (until) conditions.push(sql`created_at < ${until}`)
  return conditions
}

/** The given entries that have ended, or are gone. */
export async function listEnded(db: Db, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select asked.id from unnest(${[...ids]}::uuid[]) as asked (id)
    left join outbox on outbox.id = asked.id
    where outbox.id is null or outbox.status in ('sent', 'failed', 'cancelled')
  `.execute(db)
  return rows.map(({ id }) => id)
}

export interface OutboxMeasure {
  queued: number
  /** Zero if nothing is due. */
  oldestDueSeconds: number
}

/** The queue of the whole installation, and the age of its oldest due entry; suspended tenants are left out. */
export async function measureOutbox(db: Db): Promise<OutboxMeasure> {
  const { rows } = await sql<OutboxMeasure>`
    select count(*)::int as queued,
      greatest(0, coalesce(extract(epoch from clock_timestamp() - min(due_at)), 0))::float8 as "oldestDueSeconds"
    from outbox where due_at is not null and tenant_id not in (${suspendedTenants})
  `.execute(db)
  return rows[0] ?? { queued: 0, oldestDueSeconds: 0 }
}

/** The time by the database, which decides when entries are due. */
export async function readClock(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
  return rows[0]!.now
}

/** The key of the account's mailbox of sent mail at its provider; null if none is indexed. */
export async function findSentMailbox(db: Db, accountId: string): Promise<string | null> {
  const { rows } = await sql<{ provider_key: string }>`
    select provider_key from mailbox where account_id = ${accountId} and role = 'sent' order by path limit 1
  `.execute(db)
  return rows[0]?.provider_key ?? null
}

/** Whether the index has a copy of the send. */
export async function findCopy(db: Db, entry: { id: string; accountId: string }): Promise<boolean> {
  const { rows } = await sql`
    select from message where outbox_id = ${entry.id} and account_id = ${entry.accountId} limit 1
  `.execute(db)
  return rows.length > 0
}
