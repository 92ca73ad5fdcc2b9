import { makeTaskDue } from './make-task-due.ts'
import type { TestApp } from './open-app.ts'
import { waitUntil } from './wait-until.ts'

/** Purges the account that was deleted, the first of its tenant, and waits for the end. */
export async function purgeDeleted(app: TestApp): Promise<void> {
  await makeTaskDue(app.database.pool, 'purge_accounts')
  await waitUntil('the purge', async () => {
    const { body } = await app.get<{ items: unknown[] }>('/v1/changes?types=account.purged')
    return body.items.length === 1
  })
}
