import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { RemoteMessage } from '../../../providers/mail.ts'
import { listPlacedMailboxes } from '../mailboxes/store.ts'
import { findLockedMailAccount } from './record-account.ts'
import { recordArrivals } from './record-arrivals.ts'
import { recordChangedKeys } from './record-changed-keys.ts'

/** A draft that another client has changed under its key, as it was read from the provider. */
export interface EditedDraft {
  messageId: string
  source: string
  message: RemoteMessage
}

/**
 * Records a draft as the sync would if it had seen the change. Does nothing if the draft has another key by now, since
 * what was read is not its content then.
 */
export async function recordEdited(
  unit: UnitOfWork,
  accountId: string,
  { messageId, source, message }: EditedDraft,
): Promise<void> {
  const account = await findLockedMailAccount(unit, accountId)
  if (!account) return
  const { rows } = await sql`
    select from message
    where id = ${messageId} and account_id = ${accountId} and remote_id = ${String(message.key)} for update
  `.execute(unit.sql)
  const placed = await listPlacedMailboxes(unit.sql, accountId)
  const mailboxes = placed.filter(({ key }) => message.mailboxKeys.includes(key))
  if (rows.length === 0 || mailboxes.length === 0) return
  await recordArrivals(unit, account, [{ message, mailboxes }], true)
  // A page of changes that the sync is about to record may be older.
  await recordChangedKeys(unit, accountId, [{ source, key: message.key }])
}
