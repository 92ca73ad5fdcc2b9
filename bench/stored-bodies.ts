import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import type { MailServer, TestUser } from '../packages/server/test/servers/mail-server.ts'
import { median, short } from './figures.ts'
import { runFetch } from './imapflow-process.ts'
import { makeFullMailbox } from './mailbox.ts'
import type { Benchmark } from './row.ts'
import { openItsDatabase } from './same-sql.ts'
import { startBenchService } from './service.ts'

const MESSAGES = 10_000
const RUNS = 3
const POLL_MS = 50
const SECONDS_MAX = 600

export const storedBodies: Benchmark = {
  name: 'stored-bodies',
  about:
    'From connecting an account with bodyStorage full until all its mail is indexed, stored and found by its bodies, by imapflow that fetches the sources and drops them.',
  async run(report) {
    await using server = await startDovecot()
    const user = await makeFullMailbox(server, MESSAGES)
    const login = { host: server.host, port: server.port, ...user }
    // The first reading fills Dovecot's cache, for both.
    await runFetch(login, 'source')
    const yardsticks: number[] = []
    const stored: number[] = []
    for (let run = 0; run < RUNS; run++) {
      yardsticks.push(MESSAGES / (await runFetch(login, 'source')).seconds)
      stored.push(MESSAGES / (await timeStoring(server, user)))
    }
    const [ours, theirs] = [median(stored), median(yardsticks)]
    report({
      measure: `${short(MESSAGES)} messages, messages per second`,
      result: short(ours),
      yardstick: `imapflow ${short(theirs)}`,
      ratio: ours / theirs,
      target: '≥ 0.20 (0.35)',
    })
  },
}

async function timeStoring(server: MailServer, user: TestUser): Promise<number> {
  await using service = await startBenchService()
  await using database = await openItsDatabase(service.folder.path)
  const start = performance.now()
  const accountId = await service.connect(server, user, { bodyStorage: 'full' })
  const initializedAt = await service.untilInitialized(accountId)
  for (;;) {
    const { rows } = await database.pool.query<{ stored: number; wanted: number }>(`
      select (select count(*)::int from message where not is_draft) as wanted,
        (select count(*)::int from message_blob where message_id is not null and is_indexed) as stored`)
    const seconds = (performance.now() - start) / 1000
    if (rows[0]?.stored === rows[0]?.wanted) {
      console.error(
        `    indexed after ${short((initializedAt - start) / 1000)} s, stored after ${short(seconds)} s`,
      )
      return seconds
    }
    if (seconds > SECONDS_MAX) throw new Error(`Only ${rows[0]?.stored} of ${rows[0]?.wanted} were stored`)
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
}
