import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Registry } from 'prom-client'
import type { Database } from '../database/pool.ts'
import type { Logger } from '../kit/log.ts'
import { askingGauge } from '../kit/metrics.ts'

/** Says in words what keeps a part of this process from its work; null if nothing does. */
export type ReadinessCheck = () => string | null

export interface Readiness {
  /** Whether the process has been told to stop. It is unready from then on. */
  readonly isStopping: boolean
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

/** Reports of readiness: its metric, and the log, which gets a line whenever the problems change. */
export interface ReadinessReports {
  metrics: Registry
  log: Logger
}

/** @param answerSeconds in which the database answers; tests, whose machine may be busy, give it longer */
export function createReadiness(
  { db, findWriteProblem }: Pick<Database, 'db' | 'findWriteProblem'>,
  { metrics, log }: ReadinessReports,
  answerSeconds = ANSWER_SECONDS_MAX,
): Readiness {
  const checks: ReadinessCheck[] = []
  let isStopping = false
  const askDatabase = () =>
    sql`select 1`.execute(db).then(
      () => findWriteProblem(),
      () => SILENT,
    )
  const report = reportProblems(log)
  async function findProblems() {
    if (isStopping) return ['it is stopping']
    const problem = await Promise.race([askDatabase(), sleep(answerSeconds * 1000, SILENT, { ref: false })])
    const problems = [problem, ...checks.map(check => check())].filter(each => each !== null)
    report(problems)
    return problems
  }
  const countReady = async () => ((await findProblems()).length === 0 ? 1 : 0)
  metrics.registerMetric(
    askingGauge('waxwing_ready', 'Whether this process is ready, as /health/ready says: 1 or 0', countReady),
  )
  return {
    get isStopping() {
      return isStopping
    },
    findProblems,
    include: check => void checks.push(check),
    async turnOff(noticeSeconds) {
      isStopping = true
      await sleep(noticeSeconds * 1000)
    },
  }
}

/** Logs the problems that keep a process from being ready, when they change. */
function reportProblems(log: Logger): (problems: readonly string[]) => void {
  let reported = ''
  return problems => {
    const found = problems.join('; ')
    if (found === reported) return
    if (found === '') log.info('Ready again')
    else log.warn({ reason: found }, 'Not ready')
    reported = found
  }
}
