import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import type { MailServer, TestUser } from '../packages/server/test/servers/mail-server.ts'
import { type Cpu, medianCpu, meterCpu } from './cpu.ts'
import { median, short } from './figures.ts'
import { runFetch } from './imapflow-process.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark } from './row.ts'
import { openItsDatabase } from './same-sql.ts'
import { startBenchService } from './service.ts'

const MESSAGES = 10_000
const RUNS = 3
const POLL_MS = 100
const SECONDS_MAX = 600

export const storedBodies: Benchmark = {
  name: 'stored-bodies',
  about:
    'From connecting an account with bodyStorage full until all its mail is indexed, stored and found by its bodies, by imapflow that fetches the sources and drops them.',
  async run(report) {
    await using server = await startDovecot()
    const user = await makeFullMailbox(server, MESSAGES)
    const login = { host: server.host, port: server.port, ...user }
    // The first reading fills Dovecot's cache for both.
    await runFetch(login, 'source')
    // Soon after many files were removed, ext4 is slow to find space for each new one.
    await using folders = new AsyncDisposableStack()
    const yardsticks: number[] = []
    const stored: StoringFigures[] = []
    for (let run = 0; run < RUNS; run++) {
      yardsticks.push(MESSAGES / (await runFetch(login, 'source')).seconds)
      stored.push(await timeStoring(server, user, folders))
    }
    const [ours, theirs] = [median(stored.map(run => run.perSecond)), median(yardsticks)]
    report({
      measure: `${short(MESSAGES)} messages, messages per second`,
      result: short(ours),
      yardstick: `imapflow ${short(theirs)}`,
      ratio: ours / theirs,
      target: '≥ 0.30 (0.38)',
      cpu: medianCpu(stored.map(run => run.cpu)),
    })
  },
}

interface StoringFigures {
  perSecond: number
  cpu: Cpu
}

async function timeStoring(
  server: MailServer,
  user: TestUser,
  folders: AsyncDisposableStack,
): Promise<StoringFigures> {
  await using service = await startBenchService({ folders })
  await using database = await openItsDatabase(service.folder.path)
  const used = meterCpu()
  const start = performance.now()
  const accountId = await service.connect(server, user, { bodyStorage: 'full' })
  const initializedAt = await service.untilInitialized(accountId)
  const count = async (what: string) =>
    (await database.pool.query<{ count: number }>(`select count(*)::int from ${what}`)).rows[0]?.count
  const wanted = await count('message where not is_draft')
  for (;;) {
    const stored = await count('message_blob where message_id is not null and is_indexed')
    const seconds = (performance.now() - start) / 1000
    if (stored === wanted) {
      console.error(
        `    indexed after ${short((initializedAt - start) / 1000)} s, stored after ${short(seconds)} s`,
      )
      return { perSecond: MESSAGES / seconds, cpu: used(MESSAGES) }
    }
    if (seconds > SECONDS_MAX) throw new Error(`Only ${stored} of ${wanted} were stored`)
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
}
