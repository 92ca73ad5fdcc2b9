import { forgetOlder } from '../messages/record-missing.ts'
import { type Session, underFence } from './session.ts'
import { listCursors, storeCursor } from './source-store.ts'

const FORGOTTEN_PER_TRANSACTION = 5_000

/**
 * Removes messages that fell out of the sync window from the index, because time passed or the window was shortened.
 * The first transaction also narrows the cursors; otherwise a window that is widened again would bring nothing back.
 */
export async function forgetOutsideWindow(session: Session): Promise<void> {
  const { since, owned, provider } = session
  if (since === null || !(await hasOlder(session, since))) return
  await underFence(session, async unit => {
    for (const [source, cursor] of await listCursors(unit.sql, owned.id)) {
      const narrowed = provider.narrow(cursor, since)
      if (narrowed !== cursor)
        await storeCursor(unit, { accountId: owned.id, source, isRequired: false }, narrowed)
    }
  })
  for (let forgotten = FORGOTTEN_PER_TRANSACTION; forgotten === FORGOTTEN_PER_TRANSACTION;) {
    forgotten = await underFence(session, (unit, account) =>
      forgetOlder(unit, account, since, FORGOTTEN_PER_TRANSACTION),
    )
    session.progressed()
  }
}

async function hasOlder({ db, owned }: Session, since: Date): Promise<boolean> {
  const row = await db
    .selectFrom('message')
    .select('id')
    .where('account_id', '=', owned.id)
    .where('received_at', '<', since)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
