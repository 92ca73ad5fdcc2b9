import { type ProxiedCall, startCallProxy } from '../packages/server/test/servers/call-proxy.ts'
import { replayCalls } from './calls-process.ts'
import { type CalendarCloud, CLOUDS, type CloudUser } from './cloud-calendars.ts'
import { medianCpu, meterCpu } from './cpu.ts'
import { untilHalf } from './dav-account.ts'
import { median, short } from './figures.ts'
import type { Benchmark, Report } from './row.ts'
import { type SandboxProcess, startSandboxProcess } from './sandbox-process.ts'
import { startBenchService } from './service.ts'

const EVENTS = Number(process.env['WAXWING_BENCH_EVENTS'] ?? 5_000)
const RUNS = 3

export const cloudCalendarsFirstSync: Benchmark = {
  name: 'cloud-calendars-first-sync',
  about:
    'From connecting an account of Google and of Microsoft Graph until all its events are indexed, by the same calls.',
  async run(report) {
    for (const cloud of CLOUDS) await measure(report, cloud)
  },
}

async function measure(report: Report, cloud: CalendarCloud): Promise<void> {
  await using sandbox = await startSandboxProcess()
  const user = await cloud.addUser(sandbox, 'bench@calendars.test')
  for (let nth = 0; nth < EVENTS; nth++) await user.add(nth)
  const made = await recordCalls(sandbox, cloud, user)
  const syncs = []
  const yardsticks: number[] = []
  for (let run = 0; run < RUNS; run++) {
    syncs.push(await timeSync(cloud, user, sandbox.controlUrl))
    const { seconds } = await replayCalls({
      origin: sandbox.origin(cloud.host),
      token: await user.token(),
      singles: made.map(({ path, headers }) => ({ path, headers: { prefer: headers['prefer'] ?? '' } })),
      batches: [],
      atOnce: 1,
    })
    yardsticks.push(seconds)
  }
  const ours = median(syncs.map(({ seconds }) => seconds))
  report({
    measure: `${cloud.name}, first sync of ${short(EVENTS)} events, seconds`,
    result: short(ours),
    yardstick: `the ${made.length} calls alone ${short(median(yardsticks))}`,
    ratio: ours / median(yardsticks),
    target: '≤ 1.5 (1.2)',
    cpu: medianCpu(syncs.map(({ cpu }) => cpu)),
  })
}

/** Connects the account to a new service, and measures until all of its events are indexed. */
async function timeSync({ settings }: CalendarCloud, user: CloudUser, controlUrl: string) {
  await using service = await startBenchService({ env: settings(controlUrl) })
  const used = meterCpu()
  const begun = performance.now()
  await untilHalf(service, await user.connect(service), 'calendar', true)
  return { seconds: (performance.now() - begun) / 1_000, cpu: used(EVENTS) }
}

/** The calls of a first sync that are about calendars. */
async function recordCalls(
  sandbox: SandboxProcess,
  cloud: CalendarCloud,
  user: CloudUser,
): Promise<ProxiedCall[]> {
  await using proxy = await startCallProxy(sandbox)
  await timeSync(cloud, user, proxy.controlUrl)
  return proxy.calls.filter(
    ({ host, method, path }) => host === cloud.host && method === 'GET' && cloud.isAsked(path),
  )
}
