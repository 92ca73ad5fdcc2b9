import { sql } from 'kysely'
import type { Db } from '../src/database/pool.ts'
import { inTransaction, type UnitOfWork } from '../src/events/unit-of-work.ts'
import { lockMailAccount } from '../src/features/mail/messages/record-account.ts'
import type { MailAccount } from '../src/features/mail/messages/rules.ts'
import type { OwnedAccount } from '../src/accounts/halves/ownership.ts'

/** The mailbox of the index with a path. */
export function findMailbox(db: Db, path: string) {
  return db
    .selectFrom('mailbox')
    .select(['id', 'provider_key'])
    .where('path', '=', path)
    .executeTakeFirstOrThrow()
}

/** Commits what the interface has changed. */
export function commitChange(
  db: Db,
  { id, tenantId }: OwnedAccount,
  work: (unit: UnitOfWork, account: MailAccount) => Promise<unknown>,
): Promise<void> {
  return inTransaction(db, tenantId, async unit => {
    await work(unit, await lockMailAccount(unit, id))
  })
}

/** Sources of which something is kept although no mailbox is filled from them any more. */
export async function listUnfollowed(db: Db): Promise<string[]> {
  const { rows } = await sql<{ source: string }>`
    select source from (
      select account_id, source from sync_cursor
      union select account_id, source from quarantined_message
      union select account_id, source from changed_key
    ) as kept
    where not exists (
      select from mailbox where mailbox.account_id = kept.account_id and mailbox.source = kept.source
    )
  `.execute(db)
  return rows.map(({ source }) => source)
}
