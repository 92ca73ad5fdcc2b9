import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '../database/pool.ts'

/** Says in words what keeps a part of this process from its work; null if nothing does. */
export type ReadinessCheck = () => string | null

export interface Readiness {
  /**
   * Says in words what keeps this process from its work; nothing if it is ready. Only the process counts: a mail server
   * that fails is no reason. Never rejects.
   */
  findProblems: () => Promise<string[]>
  /** Asks this part of the process, too. */
  include(check: ReadinessCheck): void
  /** Makes the process unready for good, and waits until load balancers should have noticed. */
  turnOff(noticeSeconds: number): Promise<void>
}

const ANSWER_SECONDS_MAX = 2
const SILENT = 'the database does not answer'

export function createReadiness({
  db,
  findWriteProblem,
}: Pick<Database, 'db' | 'findWriteProblem'>): Readiness {
  const checks: ReadinessCheck[] = []
  let isStopping = false
  const askDatabase = () =>
    sql`select 1`.execute(db).then(
      () => findWriteProblem(),
      () => SILENT,
    )
  return {
    async findProblems() {
      if (isStopping) return ['it is stopping']
      const problem = await Promise.race([
        askDatabase(),
        sleep(ANSWER_SECONDS_MAX * 1000, SILENT, { ref: false }),
      ])
      return [problem, ...checks.map(check => check())].filter(each => each !== null)
    },
    include: check => void checks.push(check),
    async turnOff(noticeSeconds) {
      isStopping = true
      await sleep(noticeSeconds * 1000)
    },
  }
}
