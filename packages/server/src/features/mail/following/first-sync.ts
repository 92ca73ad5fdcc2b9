import { sql } from 'kysely'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { holdAccount, recordInitialized } from '../../../accounts/halves/progress.ts'
import { fenceAccount } from './fence.ts'
import type { Session } from './session.ts'

/** The first sync is complete: from here on changes are announced. */
export async function completeFirstSync(session: Session): Promise<void> {
  const { db, owned } = session
  await inTransaction(db, owned.tenantId, async unit => {
    await holdAccount(unit, owned.id)
    const { account } = await fenceAccount(unit, owned, [])
    if (account.isInitialized) return
    await recordInitialized(unit, account.id, 'mail')
    const { rows } = await sql<{ mailboxes: number; messages: number }>`
      select
        (select count(*)::int from mailbox where account_id = ${account.id} and not is_deleted) as mailboxes,
        (select count(*)::int from message where account_id = ${account.id}) as messages
    `.execute(unit.sql)
    unit.announce({ type: 'account.initialized', accountId: account.id, data: rows[0]! })
  })
  session.isInitialized = true
  session.bodies.wake()
}
