import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import type { MailServer, TestUser } from '../packages/server/test/servers/mail-server.ts'
import { type Cpu, medianCpu, meterCpu } from './cpu.ts'
import { median, short } from './figures.ts'
import { runFetch } from './imapflow-process.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark } from './row.ts'
import { startBenchService } from './service.ts'

const RUNS = 3
const MAILBOXES = [
  { count: 10_000, target: '≥ 0.65 (0.70)' },
  { count: 50_000, target: '≥ 0.65 (0.80)' },
]

export const firstSync: Benchmark = {
  name: 'first-sync',
  about:
    'From connecting an account until all its mail is indexed, by imapflow that fetches it and drops it.',
  async run(report) {
    await using server = await startDovecot()
    for (const { count, target } of MAILBOXES) {
      const user = await makeFullMailbox(server, count)
      const login = { host: server.host, port: server.port, ...user }
      // The first reading fills Dovecot's cache for both.
      await runFetch(login)
      const yardsticks: number[] = []
      const syncs: SyncFigures[] = []
      for (let run = 0; run < RUNS; run++) {
        yardsticks.push(count / (await runFetch(login)).seconds)
        syncs.push(await timeSync(server, user, count))
      }
      const [ours, theirs] = [median(syncs.map(run => run.perSecond)), median(yardsticks)]
      report({
        measure: `${short(count)} messages, messages per second`,
        result: short(ours),
        yardstick: `imapflow ${short(theirs)}`,
        ratio: ours / theirs,
        target,
        cpu: medianCpu(syncs.map(run => run.cpu)),
      })
    }
  },
}

interface SyncFigures {
  perSecond: number
  cpu: Cpu
}

async function timeSync(server: MailServer, user: TestUser, count: number): Promise<SyncFigures> {
  await using service = await startBenchService()
  const used = meterCpu()
  const start = performance.now()
  const accountId = await service.connect(server, user)
  const seconds = ((await service.untilInitialized(accountId)) - start) / 1000
  const cpu = used(count)
  const indexed = await countMessages(service, accountId)
  if (indexed !== count) throw new Error(`${indexed} of ${count} messages were indexed`)
  return { perSecond: count / seconds, cpu }
}

async function countMessages(service: Awaited<ReturnType<typeof startBenchService>>, accountId: string) {
  let count = 0
  let cursor = ''
  do {
    const path = `/v1/accounts/${accountId}/messages?limit=200${cursor}`
    const { body } = await service.get<{ items: unknown[]; nextCursor: string | null }>(path)
    count += body.items.length
    cursor = body.nextCursor === null ? '' : `&cursor=${encodeURIComponent(body.nextCursor)}`
  } while (cursor !== '')
  return count
}
