import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import { short } from './figures.ts'
import { runIdle, wait } from './imapflow-process.ts'
import { makeFullMailbox } from './mailbox.ts'
import { readCpuSeconds, readMemory } from './process-stats.ts'
import type { Benchmark } from './row.ts'
import { startBenchService } from './service.ts'

const ACCOUNTS = 100
const MESSAGES = 20
const SETTLE_SECONDS = 20
const SECONDS = 60

export const idleAccounts: Benchmark = {
  name: 'idle-accounts',
  about: `${ACCOUNTS} connected accounts to which nothing happens, by imapflow that idles on as many connections.`,
  async run(report) {
    await using server = await startDovecot()
    const users = []
    for (let number = 0; number < ACCOUNTS; number++)
      users.push(await makeFullMailbox(server, MESSAGES, number))
    const logins = users.map(user => ({ host: server.host, port: server.port, ...user }))
    const theirs = await runIdle({ logins, settleSeconds: SETTLE_SECONDS, seconds: SECONDS })

    await using service = await startBenchService()
    await wait(SETTLE_SECONDS)
    const emptyMb = readMemory(service.pid).nowMb
    for (const user of users) await service.untilInitialized(await service.connect(server, user))
    await wait(SETTLE_SECONDS)
    const before = readCpuSeconds(service.pid)
    await wait(SECONDS)
    const cpuShare = (readCpuSeconds(service.pid) - before) / SECONDS
    const ourKb = ((readMemory(service.pid).nowMb - emptyMb) / ACCOUNTS) * 1024
    const theirKb = ((theirs.idleMb - theirs.emptyMb) / ACCOUNTS) * 1024

    report({
      measure: 'memory an account, KB',
      result: short(ourKb),
      yardstick: `imapflow ${short(theirKb)}`,
      ratio: ourKb / theirKb,
      target: '≤ 3 (2)',
    })
    report({
      measure: 'processor, % of a core',
      result: short(cpuShare * 100),
      yardstick: `imapflow ${short(theirs.cpuShare * 100)}`,
      ratio: null,
      target: '≤ 1 (0.3)',
    })
  },
}
