import { type Cpu, meterCpu } from './cpu.ts'
import { short } from './figures.ts'
import { wait } from './imapflow-process.ts'
import { readMemory } from './process-stats.ts'
import { openItsDatabase } from './same-sql.ts'
import type { Report } from './row.ts'
import type { BenchService } from './service.ts'

/** Accounts connected before memory is measured, so that what the first ones load is not counted. */
export const WARM_UP = 10
export const SETTLE_SECONDS = 20
export const IDLE_SECONDS = 60

export interface IdleFigures {
  /** Memory of each account. */
  kbEach: number
  /** Processor time for all accounts, and that of the service before the first one. */
  cpu: Cpu
  cpuBefore: Cpu
}

/**
 * Connects accounts, and measures what the service takes while nothing happens in them.
 * @param connect returns the id of the account
 * @param atOnce number of accounts that are connected at the same time
 */
export async function measureIdle<Account>(
  service: BenchService,
  accounts: readonly Account[],
  connect: (account: Account) => Promise<string>,
  atOnce = 1,
): Promise<IdleFigures> {
  await wait(SETTLE_SECONDS)
  const cpuBefore = await measureCpu()
  const connectAll = async (some: readonly Account[]) => {
    const left = some.values()
    const connectSome = async () => {
      for (const account of left) await service.untilInitialized(await connect(account))
    }
    await Promise.all(Array.from({ length: atOnce }, connectSome))
    await wait(SETTLE_SECONDS)
  }
  await connectAll(accounts.slice(0, WARM_UP))
  const warmMb = readMemory(service.pid).nowMb
  await connectAll(accounts.slice(WARM_UP))
  await compareAll(service.folder.path)
  const cpu = await measureCpu()
  const kbEach = ((readMemory(service.pid).nowMb - warmMb) * 1024) / (accounts.length - WARM_UP)
  return { kbEach, cpu, cpuBefore }
}

/** Reports the memory and the processor time of accounts that have no yardstick. */
export function reportIdle(
  report: Report,
  accounts: string,
  { kbEach, cpu, cpuBefore }: IdleFigures,
  cpuTarget: string,
): void {
  const row = { yardstick: '', ratio: null }
  report({ measure: `${accounts}: memory per account, KB`, result: short(kbEach), ...row, target: '≤ 100' })
  report({
    measure: `${accounts}: processor, % of a core (before the first account)`,
    result: `${short(cpu.service)} (${short(cpuBefore.service)})`,
    ...row,
    target: cpuTarget,
    cpu,
  })
}

/** Seconds after which accounts whose comparison has not begun are asked again, in place of their next pass. */
const ASK_AGAIN_SECONDS = 30

/**
 * Makes the first comparisons with the server due, which otherwise happen within ten minutes of connecting, and waits for
 * them. Later ones are a day apart.
 */
async function compareAll(dataDir: string) {
  await using database = await openItsDatabase(dataDir)
  const { pool } = database
  await pool.query('update mailbox_comparison set due_at = clock_timestamp()')
  const open = 'select account_id from mailbox_comparison where compared_at is null'
  for (let seconds = 0; ; seconds++) {
    const { rowCount } = await pool.query(`${open} limit 1`)
    if (rowCount === 0) break
    if (seconds % ASK_AGAIN_SECONDS === 0)
      await pool.query(`update account_half set sync_wanted = '{integrity}' where account_id in (${open})`)
    await wait(1)
  }
  await wait(SETTLE_SECONDS)
}

async function measureCpu(): Promise<Cpu> {
  const used = meterCpu()
  await wait(IDLE_SECONDS)
  return used(null)
}
