import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { parseQuery } from '../../../kit/search-text/query.ts'

/**
 * Whether the account has sent a message to this address, as `comparedAddress` has it, as far as the index shows that. Sent is
 * what lies in the mailbox of sent mail or came from the outbox: anybody can write a From.
 */
export async function hasWrittenTo(db: Db, accountId: string, address: string): Promise<boolean> {
  // The index of words finds the few messages that may have it.
  const words = parseQuery(`"${address}"`)?.loose
  if (!words) return false
  const { rows } = await sql<{ has: boolean }>`
    select exists (
      select from message_search join message on message.id = message_search.message_id
      where message_search.account_id = ${accountId} and document @@ ${words}::tsquery
        and direction = 'outbound' and not is_draft and (message.outbox_id is not null or exists (
          select from mailbox where mailbox.id = any(message.mailbox_ids) and role = 'sent'))
        and strpos(recipients_text, ${address}) <> 0
        and exists (
          select from jsonb_array_elements("to" || cc || bcc) as recipient
          where lower(recipient ->> 'address') = ${address})
    ) as has
  `.execute(db)
  return rows[0]?.has ?? false
}
