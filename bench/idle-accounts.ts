import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import type { TestUser } from '../packages/server/test/servers/mail-server.ts'
import { short } from './figures.ts'
import { runIdle, wait } from './imapflow-process.ts'
import { makeFullMailbox } from './mailbox.ts'
import { readCpuSeconds, readMemory } from './process-stats.ts'
import type { Benchmark } from './row.ts'
import { startBenchService } from './service.ts'

const ACCOUNTS = 100
const MESSAGES = 20
/** Accounts connected before memory is measured, so that what the first ones load is not counted. */
const WARM_UP = 10
const SETTLE_SECONDS = 20
const SECONDS = 60

export const idleAccounts: Benchmark = {
  name: 'idle-accounts',
  about: `${ACCOUNTS} idle accounts, compared with imapflow idling on as many connections.`,
  async run(report) {
    await using server = await startDovecot()
    const users: TestUser[] = []
    for (let number = 0; number < ACCOUNTS; number++)
      users.push(await makeFullMailbox(server, MESSAGES, number))
    const logins = users.map(user => ({ host: server.host, port: server.port, ...user }))
    const theirs = await runIdle({ logins, warmUp: WARM_UP, settleSeconds: SETTLE_SECONDS, seconds: SECONDS })

    await using service = await startBenchService()
    await wait(SETTLE_SECONDS)
    const withoutAccounts = await measureCpuShare(service.pid)
    const connectAll = async (some: typeof users) => {
      for (const user of some) await service.untilInitialized(await service.connect(server, user))
      await wait(SETTLE_SECONDS)
    }
    await connectAll(users.slice(0, WARM_UP))
    const warmMb = readMemory(service.pid).nowMb
    await connectAll(users.slice(WARM_UP))
    const cpuShare = await measureCpuShare(service.pid)
    const ourKb = ((readMemory(service.pid).nowMb - warmMb) * 1024) / (ACCOUNTS - WARM_UP)

    report({
      measure: 'memory per account, KB',
      result: short(ourKb),
      yardstick: `imapflow ${short(theirs.kbEach)}`,
      ratio: ourKb / theirs.kbEach,
      target: '≤ 3 (2)',
    })
    report({
      measure: 'processor, % of a core (before the first account)',
      result: `${short(cpuShare * 100)} (${short(withoutAccounts * 100)})`,
      yardstick: `imapflow ${short(theirs.cpuShare * 100)}`,
      ratio: null,
      target: '≤ 1 (0.3)',
    })
  },
}

async function measureCpuShare(pid: number) {
  const before = readCpuSeconds(pid)
  await wait(SECONDS)
  return (readCpuSeconds(pid) - before) / SECONDS
}
