import type { Db } from '../../../database/pool.ts'
import type { AuditRow } from './entry.ts'
import { recordLoneRows } from './record-rows.ts'

/** Rows that one statement inserts. */
const BATCH_ROWS = 500

export interface LoneRows {
  /** Commits the row of a call that committed nothing else. Resolves when it is durable. */
  record(row: AuditRow): Promise<void>
}

/** Rows that come in while a commit is under way share the next one, so that many refusals cost few commits. */
export function createLoneRows(db: Db): LoneRows {
  const waiting: Array<{ row: AuditRow; ended: PromiseWithResolvers<void> }> = []
  let isRunning = false

  async function run() {
    isRunning = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH_ROWS)
      try {
        await recordLoneRows(
          db,
          batch.map(({ row }) => row),
        )
        for (const { ended } of batch) ended.resolve()
      } catch (error) {
        for (const { ended } of batch) ended.reject(error)
      }
    }
    isRunning = false
  }

  return {
    record(row) {
      const ended = Promise.withResolvers<void>()
      waiting.push({ row, ended })
      if (!isRunning) void run()
      return ended.promise
    },
  }
}
