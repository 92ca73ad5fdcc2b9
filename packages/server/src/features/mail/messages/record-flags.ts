import type { MessageChange } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { RemoteFlags } from '../../../providers/mail.ts'
import { announceUpdated } from './announce.ts'
import { isDraftIn, type MailAccount, type PlacedMailbox } from './rules.ts'

interface FlagRow {
  id: string
  read_changed: boolean
  flagged_changed: boolean
  draft_changed: boolean
  categories_changed: boolean
}

/** Records flags as the provider has them. Messages that read the same already, or are not indexed, are left alone. */
export async function recordFlags(
  unit: UnitOfWork,
  account: MailAccount,
  mailbox: PlacedMailbox,
  changes: ReadonlyArray<{ uid: number; flags: RemoteFlags }>,
): Promise<void> {
  const wanted = changes.map(({ uid, flags }) => ({
    uid,
    is_read: flags.isRead,
    is_flagged: flags.isFlagged,
    is_draft: isDraftIn(mailbox.role, flags.isDraft),
    categories: flags.categories.toSorted(),
  }))
  const { rows } = await sql<FlagRow>`
    with wanted as (
      select * from json_to_recordset(${JSON.stringify(wanted)}::json)
        as wanted (uid bigint, is_read boolean, is_flagged boolean, is_draft boolean, categories text[])
    ), before as (
      select message.id, message.is_read, message.is_flagged, message.is_draft, message.categories, wanted.uid
      from wanted
      join message_mailbox as held on held.mailbox_id = ${mailbox.id} and held.uid = wanted.uid
      join message on message.id = held.message_id
      where (message.is_read, message.is_flagged, message.is_draft, message.categories)
        is distinct from (wanted.is_read, wanted.is_flagged, wanted.is_draft, wanted.categories)
      for update of message
    )
    update message set is_read = wanted.is_read, is_flagged = wanted.is_flagged, is_draft = wanted.is_draft,
      categories = wanted.categories
    from before join wanted using (uid)
    where message.id = before.id
    returning message.id,
      before.is_read <> wanted.is_read as read_changed,
      before.is_flagged <> wanted.is_flagged as flagged_changed,
      before.is_draft <> wanted.is_draft as draft_changed,
      before.categories <> wanted.categories as categories_changed
  `.execute(unit.sql)
  if (account.isInitialized)
    await announceUpdated(unit, account, new Map(rows.map(row => [row.id, changedFields(row)])))
}

function changedFields(row: FlagRow): MessageChange[] {
  const changed: MessageChange[] = []
  if (row.read_changed) changed.push('isRead')
  if (row.flagged_changed) changed.push('isFlagged')
  if (row.draft_changed) changed.push('isDraft')
  if (row.categories_changed) changed.push('categories')
  return changed
}
