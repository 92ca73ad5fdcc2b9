import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { WokenLoop } from '../../../jobs/woken-loop.ts'
import type { Logger } from '../../../kit/log.ts'
import type { ReachPoint } from '../../../kit/reach-point.ts'
import type { AccountKeys } from '../../accounts/accounts/secrets.ts'
import { recordJudged } from './record-judged.ts'
import { listUnjudged, secondsToJudge } from './store.ts'

export type ReachTrackingPoint = ReachPoint<'judge_commit'>

export interface JudgeOptions {
  db: Db
  accountKeys: AccountKeys
  log: Logger
  reach: ReachTrackingPoint
  /** Told of each open and click that was counted. */
  onJudged(kind: 'open' | 'click', isMachine: boolean): void
}

/** A wake tells of what comes; this is for wakes that were lost. */
const POLL_SECONDS = 60
const LOOK_SECONDS = 0.5
/** Messages that are judged by one transaction, all of one tenant. */
const MESSAGES_MAX = 50

/** Judges what came some seconds ago, and announces it. What is not yet committed is judged again after a crash. */
export function startJudging({ db, accountKeys, log, reach, onJudged }: JudgeOptions): WokenLoop {
  return new WokenLoop({
    failure: 'Opens and clicks could not be judged; they are judged later',
    log,
    async look(signal) {
      const due = await listUnjudged(db)
      let hasMore = false
      for (const [tenantId, messages] of Map.groupBy(due, message => message.tenantId)) {
        const ids = messages.map(({ outboxId }) => outboxId)
        for (let at = 0; at < ids.length; at += MESSAGES_MAX) {
          signal.throwIfAborted()
          const judged = await inTransaction(db, tenantId, async unit => {
            const done = await recordJudged(unit, accountKeys, ids.slice(at, at + MESSAGES_MAX))
            await reach('judge_commit', tenantId)
            return done
          })
          for (const { kind, isMachine } of judged.counted) onJudged(kind, isMachine)
          hasMore ||= judged.hasMore
        }
      }
      if (hasMore) return 0
      // What another process is judging is looked at again only after a pause.
      return Math.max(LOOK_SECONDS, Math.min(await secondsToJudge(db), POLL_SECONDS))
    },
  })
}
