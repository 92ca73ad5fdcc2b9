import { sql } from 'kysely'
import { type Session, underFence } from './session.ts'

/** The first sync is complete: from here on changes are announced. */
export async function completeFirstSync(session: Session): Promise<void> {
  await underFence(session, async (unit, account) => {
    if (account.isInitialized) return
    const { rows } = await sql<{ mailboxes: number; messages: number }>`
      update account set initialized_at = clock_timestamp(), updated_at = clock_timestamp() where id = ${account.id}
      returning
        (select count(*)::int from mailbox where account_id = ${account.id} and not is_deleted) as mailboxes,
        (select count(*)::int from message where account_id = ${account.id}) as messages
    `.execute(unit.sql)
    const [counts] = rows
    if (counts) unit.announce({ type: 'account.initialized', accountId: account.id, data: counts })
  })
  session.isInitialized = true
  session.bodies.wake()
}
