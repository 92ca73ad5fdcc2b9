import { readdirSync } from 'node:fs'
import { callerOf } from '../packages/server/test/caller.ts'
import { type DataFolder, isRunning, startServiceProcess } from '../packages/server/test/service-process.ts'
import { type Cpu, meterCpu } from './cpu.ts'
import { short } from './figures.ts'
import { startIdleServer } from './idle-server-process.ts'
import { SETTLE_SECONDS, WARM_UP } from './idle.ts'
import { runIdle, wait } from './imapflow-process.ts'
import { readMemory } from './process-stats.ts'
import type { Benchmark, Report } from './row.ts'
import { openItsDatabase } from './same-sql.ts'
import { MEASURED_PROGRAM, SERVICE_SETTINGS, startBenchService } from './service.ts'

const CONNECTED_AT_ONCE = 16
/** An address of the loopback network stands for one mail server, whose connections are bounded. */
const ACCOUNTS_PER_HOST = 5_000
const WAIT_SECONDS_MAX = 1_800
/** By then, the passes over mailboxes that the server reports are twelve minutes apart. */
const QUIET_SECONDS = Number(process.env['WAXWING_BENCH_QUIET_SECONDS'] ?? 300)
const MEASURED_SECONDS = 120
const ENV = {
  ...SERVICE_SETTINGS,
  WAXWING_EGRESS_ALLOW: '127.0.0.0/8',
  WAXWING_CONNECTIONS_PER_HOST: '10000',
}

interface Login {
  host: string
  port: number
  user: string
  password: string
}

export const idleThousand: Benchmark = {
  name: 'idle-thousand',
  about: '1,000 idle accounts on one process, compared with imapflow, on an IMAP server that only waits.',
  run: report => runMany(1_000, report, { start: '≤ 60', memory: '≤ 2', cpu: '≤ 3' }),
}

export const idleTenThousand: Benchmark = {
  name: 'idle-ten-thousand',
  about: '10,000 idle accounts on one process, compared with imapflow, on an IMAP server that only waits.',
  run: report => runMany(10_000, report, { start: '', memory: '', cpu: '' }),
}

async function runMany(
  count: number,
  report: Report,
  targets: { start: string; memory: string; cpu: string },
): Promise<void> {
  await using server = await startIdleServer()
  const logins = Array.from({ length: count }, (_, number) => ({
    host: `127.0.0.${1 + Math.floor(number / ACCOUNTS_PER_HOST)}`,
    port: server.port,
    user: `idle-${number}@idle.test`,
    password: 'secret',
  }))
  const times = { settleSeconds: SETTLE_SECONDS, seconds: MEASURED_SECONDS }
  const theirs = await runIdle({ logins, warmUp: WARM_UP, ...times })
  await using folders = new AsyncDisposableStack()
  const connected = await connectAll(folders, logins)
  const ours = await startCold(connected, count)
  const row = (
    measure: string,
    result: string,
    yardstick = '',
    ratio: number | null = null,
    target = '',
    cpus: { cpu?: Cpu } = {},
  ) => report({ measure, result, yardstick, ratio, target, ...cpus })
  row('seconds until all are connected for the first time', short(connected.seconds))
  row('seconds from a cold start until all are live', short(ours.liveSeconds), '', null, targets.start)
  const memory = `imapflow ${short(theirs.kbEach)}`
  row('memory per account, KB', short(ours.kbEach), memory, ours.kbEach / theirs.kbEach, targets.memory)
  row('memory of the process, MB (peak)', `${short(ours.nowMb)} (${short(ours.peakMb)})`)
  const cpu = `imapflow ${short(theirs.cpuShare * 100)}`
  row('processor, % of a core', short(ours.cpu.service), cpu, null, targets.cpu, { cpu: ours.cpu })
  row('open files', String(ours.files))
  row('a page of accounts, ms', short(ours.pageMs))
}

/** Connects all accounts for the first time, and ends the service. */
async function connectAll(folders: AsyncDisposableStack, logins: readonly Login[]) {
  await using service = await startBenchService({ folders, connectionsPerHost: 10_000, env: ENV })
  const { folder, key, pid } = service
  let left: Iterable<Login> = []
  const connectSome = async () => {
    for (const { host, port, user, password } of left) {
      const imap = { host, port, security: 'none', user }
      const asked = { email: user, password, imap, smtp: null }
      const { status, body } = await service.post('/v1/imap-accounts', asked)
      if (status !== 200) throw new Error(JSON.stringify(body))
    }
  }
  const connectAllOf = async (some: readonly Login[]) => {
    left = some.values()
    await Promise.all(Array.from({ length: CONNECTED_AT_ONCE }, connectSome))
  }
  await connectAllOf(logins.slice(0, WARM_UP))
  await wait(SETTLE_SECONDS)
  const warmMb = readMemory(pid).nowMb
  const startedAt = performance.now()
  await connectAllOf(logins.slice(WARM_UP))
  await untilLive(folder, logins.length)
  const seconds = (performance.now() - startedAt) / 1_000
  process.kill(pid, 'SIGTERM')
  await until('the service ends', () => Promise.resolve(!isRunning(pid)))
  return { folder, key, seconds, warmMb }
}

/** Starts the service again, and measures it when nothing has happened for some minutes. */
async function startCold(
  { folder, key, warmMb }: { folder: DataFolder; key: string; warmMb: number },
  count: number,
) {
  const startedAt = performance.now()
  await using service = await startServiceProcess(folder, { program: MEASURED_PROGRAM, env: ENV })
  await untilLive(folder, count)
  const liveSeconds = (performance.now() - startedAt) / 1_000
  await wait(SETTLE_SECONDS + QUIET_SECONDS)
  const files = readdirSync(`/proc/${service.pid}/fd`).length
  const { nowMb, peakMb } = readMemory(service.pid)
  const used = meterCpu()
  await wait(MEASURED_SECONDS)
  const cpu = used(null)
  const askedAt = performance.now()
  await callerOf(service.address, key).get('/v1/accounts?limit=50')
  return {
    liveSeconds,
    files,
    nowMb,
    peakMb,
    cpu,
    kbEach: ((nowMb - warmMb) * 1_024) / (count - WARM_UP),
    pageMs: performance.now() - askedAt,
  }
}

async function untilLive(folder: DataFolder, count: number): Promise<void> {
  await using database = await openItsDatabase(folder.path)
  await until(`all ${count} accounts are live`, async () => {
    const { rows } = await database.pool.query<{ live: number }>(
      `select count(*)::int as live from account_half where runtime_state = 'live'`,
    )
    return rows[0]?.live === count
  })
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WAIT_SECONDS_MAX * 1_000
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`Waited ${WAIT_SECONDS_MAX} s in vain until ${what}`)
    await wait(0.25)
  }
}
