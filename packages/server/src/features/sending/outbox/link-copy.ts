import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { findLockedMailAccount } from '../../mail/messages/record-account.ts'
import { linkFiledCopy } from '../../mail/messages/record-sends.ts'
import type { ReachSendPoint } from './points.ts'
import { recordCopyLinked, recordPutOff, type Task } from './record-task.ts'
import { planTaskPauseSeconds } from './schedule.ts'

interface LinkServices {
  db: Db
  reach: ReachSendPoint
  /** Lets the sync look at an account whose mail was changed. */
  wakeSync(accountId: string): void
}

/** A copy that the sync does not bring in this many tries, over about nine hours, is linked when it comes. */
const LINK_TRIES_MAX = 16

/** Links a sent message to the copy that its provider filed, which may have another Message-ID. */
export async function linkCopy({ db, reach, wakeSync }: LinkServices, task: Task): Promise<void> {
  const { accountId, internetMessageId, sentKey } = task
  const isLinked = await inTransaction(db, task.tenantId, async unit => {
    const account = await findLockedMailAccount(unit, accountId)
    const copied =
      account && sentKey !== null
        ? await linkFiledCopy(unit, account, { internetMessageId, key: sentKey })
        : null
    const isOver = account === null || sentKey === null || task.tries >= LINK_TRIES_MAX
    if (copied !== null || isOver) await recordCopyLinked(unit, task, copied)
    if (copied !== null) await reach('copy_link', task.id)
    return copied !== null || isOver
  })
  if (isLinked) return
  wakeSync(accountId)
  await recordPutOff(db, task, planTaskPauseSeconds(task.tries + 1), 'try')
}
