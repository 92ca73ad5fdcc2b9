import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import type { TestUser } from '../packages/server/test/servers/mail-server.ts'
import { short } from './figures.ts'
import { IDLE_SECONDS, measureIdle, SETTLE_SECONDS, WARM_UP } from './idle.ts'
import { runIdle } from './imapflow-process.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark } from './row.ts'
import { startBenchService } from './service.ts'

const ACCOUNTS = 100
const MESSAGES = 20

export const idleAccounts: Benchmark = {
  name: 'idle-accounts',
  about: `${ACCOUNTS} idle accounts, compared with imapflow idling on as many connections.`,
  async run(report) {
    await using server = await startDovecot()
    const users: TestUser[] = []
    for (let number = 0; number < ACCOUNTS; number++)
      users.push(await makeFullMailbox(server, MESSAGES, number))
    const logins = users.map(user => ({ host: server.host, port: server.port, ...user }))
    const theirs = await runIdle({
      logins,
      warmUp: WARM_UP,
      settleSeconds: SETTLE_SECONDS,
      seconds: IDLE_SECONDS,
    })

    await using service = await startBenchService()
    const ours = await measureIdle(service, users, user => service.connect(server, user))
    report({
      measure: 'memory per account, KB',
      result: short(ours.kbEach),
      yardstick: `imapflow ${short(theirs.kbEach)}`,
      ratio: ours.kbEach / theirs.kbEach,
      target: '≤ 2',
    })
    report({
      measure: 'processor, % of a core (before the first account)',
      result: `${short(ours.cpu.service)} (${short(ours.cpuBefore.service)})`,
      yardstick: `imapflow ${short(theirs.cpuShare * 100)}`,
      ratio: null,
      target: '≤ 0.9 (0.5)',
      cpu: ours.cpu,
    })
  },
}
