import { followPage } from '../../../accounts/shared/follow-delegate.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import { enqueue, type JobKind } from '../../../jobs/enqueue.ts'
import { type JobHandler, jobHandler } from '../../../jobs/job-worker.ts'
import { FIRST_ID } from '../../../kit/ids.ts'

const followDelegate: JobKind<{ delegateId: string; afterId: string }> = {
  name: 'follow_delegate',
  parse(stored) {
    const { delegateId, afterId } = stored as Record<string, unknown>
    if (typeof delegateId !== 'string') throw new TypeError('delegateId is missing')
    if (typeof afterId !== 'string') throw new TypeError('afterId is missing')
    return { delegateId, afterId }
  },
}

/**
 * Lets the shared mailboxes behind this id follow their delegate after the commit, page by page.
 * @param afterId those up to this id have followed it; by default none has
 */
export function enqueueFollowing(
  unit: UnitOfWork,
  delegateId: string,
  afterId: string = FIRST_ID,
): Promise<void> {
  return enqueue(unit, followDelegate, [{ delegateId, afterId }])
}

/** A job that is run again changes nothing of what has followed. */
export function followDelegateHandler(db: Db, wake: (accountId: string) => void): JobHandler {
  return jobHandler(followDelegate, async ({ delegateId, afterId }, { tenantId, signal }) => {
    let after: string | null = afterId
    while (after !== null) {
      signal.throwIfAborted()
      const from: string = after
      const page = await inTransaction(db, tenantId, unit => followPage(unit, delegateId, from))
      for (const accountId of page.sharedIds) wake(accountId)
      after = page.nextId
    }
  })
}
