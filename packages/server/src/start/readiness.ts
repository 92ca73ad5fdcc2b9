import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '../database/pool.ts'

export interface Readiness {
  /** Whether requests can be served: the database answers, has room to write, and the service is not stopping. Never rejects. */
  isReady: () => Promise<boolean>
  /** Says no from now on, and waits for whoever asks now and then to notice. */
  turnOff(noticeSeconds: number): Promise<void>
}

const ANSWER_SECONDS_MAX = 2

export function createReadiness({ db, hasRoom }: Pick<Database, 'db' | 'hasRoom'>): Readiness {
  let isStopping = false
  const answers = () =>
    sql`select 1`.execute(db).then(
      () => hasRoom(),
      () => false,
    )
  return {
    isReady: async () =>
      !isStopping && Promise.race([answers(), sleep(ANSWER_SECONDS_MAX * 1000, false, { ref: false })]),
    async turnOff(noticeSeconds) {
      isStopping = true
      await sleep(noticeSeconds * 1000)
    },
  }
}
