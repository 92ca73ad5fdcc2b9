import { configureGmail } from '../packages/server/test/gmail/gmail-client.ts'
import { connectGmail, gmailSettings, PUSH_SETTINGS, pushTo } from './gmail-accounts.ts'
import { type IdleFigures, measureIdle, reportIdle } from './idle.ts'
import type { Benchmark } from './row.ts'
import { openItsDatabase } from './same-sql.ts'
import { startSandboxProcess } from './sandbox-process.ts'
import { type BenchService, startBenchService } from './service.ts'

const ACCOUNTS = Number(process.env['WAXWING_BENCH_ACCOUNTS'] ?? 1_000)
const MESSAGES = 20
const CONNECTED_AT_ONCE = 8

export const gmailIdle: Benchmark = {
  name: 'gmail-idle',
  about: `${ACCOUNTS} idle Gmail accounts, to which Gmail pushes, and which are polled.`,
  async run(report) {
    for (const [how, isPushed, cpuTarget] of [
      ['pushed', true, '≤ 2'],
      ['polled', false, '≤ 15'],
    ] as const)
      reportIdle(report, `${ACCOUNTS} accounts, ${how}`, await measure(isPushed), cpuTarget)
  },
}

async function measure(isPushed: boolean): Promise<IdleFigures> {
  await using sandbox = await startSandboxProcess()
  await configureGmail(sandbox, { quota: 'off' })
  const emails = Array.from({ length: ACCOUNTS }, (_, index) => `idle-${index}@gmail.test`)
  for (const email of emails) await sandbox.addUser(email, { messages: MESSAGES })
  await using service = await startBenchService({
    env: { ...gmailSettings(sandbox), ...(isPushed && PUSH_SETTINGS) },
  })
  if (isPushed) await pushTo(sandbox, service.address)
  const connect = (email: string) => connectGmail(service, sandbox, email)
  const figures = await measureIdle(service, emails, connect, CONNECTED_AT_ONCE)
  const watched = await countWatches(service)
  if (watched !== (isPushed ? ACCOUNTS : 0))
    throw new Error(`${watched} of ${ACCOUNTS} mailboxes are watched`)
  return figures
}

async function countWatches({ folder }: BenchService): Promise<number> {
  await using database = await openItsDatabase(folder.path)
  const { rows } = await database.pool.query<{ count: number }>(
    'select count(*)::int as count from gmail_watch',
  )
  return rows[0]?.count ?? 0
}
