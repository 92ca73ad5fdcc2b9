import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { announceDeleted } from './announce.ts'
import type { MailAccount } from './rules.ts'

/**
 * A message that is gone from where it was is *missing* first: it may turn up in another mailbox, and then it moved.
 * Only what no mailbox has at the end of a pass is deleted. The state lies in the rows, so that a crash forgets nothing.
 */
export async function markMissing(
  unit: UnitOfWork,
  account: MailAccount,
  mailboxId: string,
  uids: readonly number[],
): Promise<void> {
  await sql`
    with gone as (
      update message_mailbox set uid = null
      where mailbox_id = ${mailboxId} and uid = any(${uids}::bigint[]) returning message_id
    )
    update message set missing_look = ${account.look} from gone where message.id = gone.message_id
  `.execute(unit.sql)
}

/** All UIDs of a mailbox became void (RFC 9051 section 2.3.1.1): its messages wait to be recognised as it is read anew. */
export async function markRenumbered(unit: UnitOfWork, mailboxId: string): Promise<void> {
  await sql`
    with void as (
      update message_mailbox set uid = null where mailbox_id = ${mailboxId} and uid is not null returning message_id
    )
    update message set missing_look = 'infinity' from void where message.id = void.message_id
  `.execute(unit.sql)
  await unit.sql.deleteFrom('quarantined_message').where('mailbox_id', '=', mailboxId).execute()
}

/** The mailbox was read anew to its end: what was not recognised in it is missing. */
export async function missUnrecognised(
  unit: UnitOfWork,
  account: MailAccount,
  mailboxId: string,
): Promise<void> {
  await sql`
    update message set missing_look = ${account.look}
    from message_mailbox as held
    where held.mailbox_id = ${mailboxId} and held.uid is null
      and message.id = held.message_id and message.missing_look = 'infinity'
  `.execute(unit.sql)
}

/**
 * Deletes up to `limit` messages that were missing before this look began, and announces them as last indexed.
 * @returns how many
 */
export async function recordLost(
  unit: UnitOfWork,
  account: MailAccount,
  look: number,
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    select id from message
    where account_id = ${account.id} and missing_look < ${look} order by id limit ${limit} for update
  `.execute(unit.sql)
  const ids = rows.map(row => row.id)
  if (ids.length === 0) return 0
  if (account.isInitialized) await announceDeleted(unit, account, ids)
  await sql`delete from message where id = any(${ids}::uuid[])`.execute(unit.sql)
  return ids.length
}

/** Takes up to `limit` messages that fell out of the sync window out of the index, in silence. @returns how many */
export async function forgetOlder(
  unit: UnitOfWork,
  account: MailAccount,
  before: Date,
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    delete from message where id in (
      select id from message where account_id = ${account.id} and received_at < ${before}
      order by received_at limit ${limit}
    ) returning id
  `.execute(unit.sql)
  return rows.length
}
