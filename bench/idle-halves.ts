import { startOddDav } from '../packages/server/test/servers/odd-dav.ts'
import { meterCpu } from './cpu.ts'
import { short } from './figures.ts'
import { startIdleServer } from './idle-server-process.ts'
import { wait } from './imapflow-process.ts'
import { readUsedHeap } from './own-heap.ts'
import type { Benchmark } from './row.ts'
import { openItsDatabase } from './same-sql.ts'
import { type BenchService, SERVICE_SETTINGS, startBenchService } from './service.ts'

const ACCOUNTS = Number(process.env['WAXWING_BENCH_ACCOUNTS'] ?? 1_000)
const AT_ONCE = 16
const LIVE_SECONDS_MAX = 900
/** By then, nothing of the connecting is left in the heap. */
const SETTLE_SECONDS = 60
/** Longer than the five minutes between two looks at contacts. */
const MEASURED_SECONDS = 330

const HALVES = [
  { name: 'contacts', url: 'contactsUrl', collection: 'people', memoryTarget: '≤ 4', cpuTarget: '' },
  { name: 'calendars', url: 'calendarUrl', collection: 'calendar', memoryTarget: '≤ 8', cpuTarget: '≤ 15' },
] as const

export const idleHalves: Benchmark = {
  name: 'idle-halves',
  about:
    'Memory and processor time that the contacts, and the calendars, of 1,000 idle IMAP accounts add, on DAV servers in which nothing happens.',
  async run(report) {
    await using imap = await startIdleServer()
    await using service = await startBenchService({
      connectionsPerHost: 10_000,
      env: { ...SERVICE_SETTINGS, WAXWING_CONNECTIONS_PER_HOST: '10000' },
    })
    const ids = await inTurn(ACCOUNTS, number => connect(service, imap.port, number))
    const without = await measure(service, ACCOUNTS)
    for (const half of HALVES) {
      await using dav = await startOddDav({}, half.collection)
      const { user, password } = dav.login
      const settings = { contactsUrl: null, calendarUrl: null, [half.url]: dav.home.href, user, password }
      await inTurn(ACCOUNTS, async number => {
        const path = `/v1/accounts/${ids[number]}/imap-settings`
        const { status, body } = await service.patch(path, { dav: settings })
        if (status !== 200) throw new Error(JSON.stringify(body))
      })
      const withHalves = await measure(service, 2 * ACCOUNTS)
      report({
        measure: `memory per half of ${half.name}, KB of the heap`,
        result: short((withHalves.heap - without.heap) / 1_024 / ACCOUNTS),
        yardstick: `mail of the same account ${short(without.heap / 1_024 / ACCOUNTS)}, with what the process itself takes`,
        ratio: null,
        target: half.memoryTarget,
      })
      report({
        measure: `processor with the halves of ${half.name}, % of a core (without)`,
        result: `${short(withHalves.cpu.service)} (${short(without.cpu.service)})`,
        yardstick: '',
        ratio: null,
        target: half.cpuTarget,
        cpu: withHalves.cpu,
      })
    }
  },
}

async function connect(service: BenchService, port: number, number: number): Promise<string> {
  const { status, body } = await service.post<{ id: string }>('/v1/imap-accounts', {
    email: `idle-${number}@idle.test`,
    password: 'secret',
    imap: { host: '127.0.0.1', port, security: 'none', user: `idle-${number}@idle.test` },
    smtp: null,
  })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.id
}

async function measure(service: BenchService, halves: number) {
  await using database = await openItsDatabase(service.folder.path)
  const deadline = performance.now() + LIVE_SECONDS_MAX * 1_000
  for (;;) {
    const { rows } = await database.pool.query<{ live: number }>(
      `select count(*)::int as live from account_half where runtime_state = 'live'`,
    )
    if (rows[0]?.live === halves) break
    if (performance.now() > deadline) throw new Error(`Of ${halves} halves, ${rows[0]?.live} are live`)
    await wait(0.25)
  }
  await wait(SETTLE_SECONDS)
  const used = meterCpu()
  await wait(MEASURED_SECONDS)
  return { cpu: used(null), heap: await readUsedHeap(service.pid) }
}

/** Does work for each number, some at once. @returns the outcomes in order */
async function inTurn<T>(count: number, work: (number: number) => Promise<T>): Promise<T[]> {
  const done: T[] = []
  let next = 0
  const doSome = async () => {
    for (let number = next++; number < count; number = next++) done[number] = await work(number)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, doSome))
  return done
}
