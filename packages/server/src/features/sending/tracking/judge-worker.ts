import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { WokenLoop } from '../../../processes/woken-loop.ts'
import type { Logger } from '../../../kit/log.ts'
import type { ReachPoint } from '../../../kit/reach-point.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import { recordJudged, recordUnjudged } from './record-judged.ts'
import { listUnjudged, secondsToJudge } from './store.ts'

export type ReachTrackingPoint = ReachPoint<'judge_commit'>

export interface JudgeOptions {
  db: Db
  accountKeys: AccountKeys
  log: Logger
  reach: ReachTrackingPoint
  /** Called with each open and click that was counted. */
  onJudged(kind: 'open' | 'click', isMachine: boolean): void
}

/** A wake announces new items; this is for wakes that were lost. */
const POLL_SECONDS = 60
const LOOK_SECONDS = 0.5
/** Messages that are judged by one transaction, all of one tenant. */
const MESSAGES_MAX = 50

/**
 * Judges items that came some seconds ago, and announces them. Items whose judgement is not yet committed are judged
 * again after a crash.
 */
export function startJudging(options: JudgeOptions): WokenLoop {
  const { db, log } = options
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
          if (await judgeEach(options, tenantId, ids.slice(at, at + MESSAGES_MAX))) hasMore = true
        }
      }
      if (hasMore) return 0
      // Items that another process is judging are looked at again only after a pause.
      return Math.max(LOOK_SECONDS, Math.min(await secondsToJudge(db), POLL_SECONDS))
    },
  })
}

/**
 * Judges messages of a tenant. Messages that fail are put off, each by itself.
 * @returns whether more of them are due
 */
async function judgeEach(
  options: JudgeOptions,
  tenantId: string,
  outboxIds: readonly string[],
): Promise<boolean> {
  try {
    return await judgeTogether(options, tenantId, outboxIds)
  } catch (error) {
    if (outboxIds.length > 1) {
      let hasMore = false
      for (const id of outboxIds) if (await judgeEach(options, tenantId, [id])) hasMore = true
      return hasMore
    }
    const [outboxId] = outboxIds
    if (outboxId === undefined) throw error
    options.log.error({ error, outboxId, tenantId }, 'Opens and clicks of a message could not be judged')
    // Throws while the database is away: the look is then repeated, and no message is put off.
    await recordUnjudged(options.db, outboxId)
    return false
  }
}

async function judgeTogether(
  { db, accountKeys, reach, onJudged }: JudgeOptions,
  tenantId: string,
  outboxIds: readonly string[],
): Promise<boolean> {
  const { counted, hasMore } = await inTransaction(db, tenantId, async unit => {
    const judged = await recordJudged(unit, accountKeys, outboxIds)
    await reach('judge_commit', tenantId)
    return judged
  })
  for (const { kind, isMachine } of counted) onJudged(kind, isMachine)
  return hasMore
}
