import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CallProxy,
  type ProxiedCall,
  startCallProxy,
} from '../packages/server/test/servers/call-proxy.ts'
import type { DavTestServer, DavTestUser } from '../packages/server/test/servers/dav-test-server.ts'
import { medianCpu, meterCpu } from './cpu.ts'
import { median, short } from './figures.ts'
import type { Report } from './row.ts'
import type { BenchService } from './service.ts'

const POLL_MS = 20
const SYNC_SECONDS_MAX = 1_800
const QUIET_MS = 300
const QUIET_PASSES = 20

/** A half of an account that a DAV server serves. */
export type DavHalf = 'contacts' | 'calendar'

/** A proxy before a DAV server, which sees the requests of the service, and its origin. */
export async function watchDav(
  server: DavTestServer,
): Promise<AsyncDisposable & { proxy: CallProxy; origin: string }> {
  const proxy = await startCallProxy({ controlUrl: server.url.origin, hosts: { dav: server.url.origin } })
  const hosts = (await (await fetch(`${proxy.controlUrl}/hosts`)).json()) as { dav: string }
  return { proxy, origin: hosts.dav, [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() }
}

/** Switches a half of an account on, and the other one off. */
export async function addHalf(
  service: BenchService,
  accountId: string,
  { half, user, origin }: { half: DavHalf; user: DavTestUser; origin: string },
): Promise<void> {
  const url = new URL(user.homePath, origin).href
  await changeSettings(service, accountId, {
    contactsUrl: half === 'contacts' ? url : null,
    calendarUrl: half === 'calendar' ? url : null,
    user: user.user,
    password: user.password,
  })
}

/** Switches a half of an account off, and waits until the index has nothing of it. */
export async function removeHalf(service: BenchService, accountId: string, half: DavHalf): Promise<void> {
  await changeSettings(service, accountId, null)
  await untilHalf(service, accountId, half, false)
}

async function changeSettings(service: BenchService, accountId: string, dav: object | null): Promise<void> {
  const { status, body } = await service.patch(`/v1/accounts/${accountId}/imap-settings`, { dav })
  if (status !== 200) throw new Error(JSON.stringify(body))
}

/** Waits until the first sync of a half is done, or until it has left the index. */
export async function untilHalf(
  service: BenchService,
  accountId: string,
  half: DavHalf,
  isThere: boolean,
): Promise<void> {
  const deadline = performance.now() + SYNC_SECONDS_MAX * 1_000
  for (;;) {
    const { body } = await service.get<Record<string, string | null>>(`/v1/accounts/${accountId}`)
    if ((body[`${half}InitializedAt`] !== null) === isThere) return
    if (performance.now() > deadline)
      throw new Error(`the half does not come or go: ${half}, ${JSON.stringify(body)}`)
    await sleep(POLL_MS)
  }
}

/** Sends requests again, one after the other on one connection, and drops their answers. */
export function openReplay(origin: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const send = ({ method, path, headers, body }: Pick<ProxiedCall, 'method' | 'path' | 'headers' | 'body'>) =>
    new Promise<number>((resolve, reject) => {
      const bytes = Buffer.from(body, 'latin1')
      const options = { agent, method, headers: { ...headers, 'content-length': String(bytes.byteLength) } }
      const sent = request(origin + path, options, answer => {
        answer.on('error', reject)
        answer.on('end', () => resolve(answer.statusCode ?? 0))
        answer.resume()
      })
      sent.on('error', reject)
      sent.end(bytes)
    })
  return {
    send,
    async sendAll(calls: readonly ProxiedCall[]): Promise<void> {
      for (const call of calls) await send(call)
    },
    [Symbol.dispose]: () => agent.destroy(),
  }
}

/** Waits until no request has been sent for a moment. */
export async function untilQuiet(calls: readonly ProxiedCall[]): Promise<void> {
  for (let seen = -1; seen !== calls.length || calls.some(({ isUnderWay }) => isUnderWay);) {
    seen = calls.length
    await sleep(QUIET_MS)
  }
}

/** A half whose server is called through a proxy. */
interface MeasuredHalf {
  service: BenchService
  accountId: string
  half: DavHalf
  /** All calls of the server so far. */
  calls: readonly ProxiedCall[]
  replay: ReturnType<typeof openReplay>
}

const RUNS = 3
const NAMES = { contacts: 'contacts', calendar: 'events' } as const

/** Reports the first sync of a half with so many items, beside the same requests. The half stays on. */
export async function reportFirstSync(
  report: Report,
  {
    service,
    accountId,
    half,
    calls,
    replay,
    user,
    origin,
    items,
  }: MeasuredHalf & { user: DavTestUser; origin: string; items: number },
): Promise<void> {
  const syncs = []
  const yardsticks = []
  for (let run = 0; run < RUNS; run++) {
    const first = calls.length
    const used = meterCpu()
    const begun = performance.now()
    await addHalf(service, accountId, { half, user, origin })
    await untilHalf(service, accountId, half, true)
    syncs.push({ seconds: (performance.now() - begun) / 1_000, cpu: used(items) })
    await untilQuiet(calls)
    const made = calls.slice(first)
    const again = performance.now()
    await replay.sendAll(made)
    yardsticks.push((performance.now() - again) / 1_000)
    if (run < RUNS - 1) await removeHalf(service, accountId, half)
  }
  const ours = median(syncs.map(({ seconds }) => seconds))
  report({
    measure: `first sync of ${short(items)} ${NAMES[half]}, seconds`,
    result: short(ours),
    yardstick: `the requests alone ${short(median(yardsticks))}`,
    ratio: ours / median(yardsticks),
    target: '≤ 1.5 (1.2)',
    cpu: medianCpu(syncs.map(({ cpu }) => cpu)),
  })
}

/** Reports a pass from its first request until its last answer, beside the same requests. */
export async function reportQuietPass(
  report: Report,
  { service, accountId, half, calls, replay }: MeasuredHalf,
): Promise<void> {
  const passes: number[] = []
  const bare: number[] = []
  let requests = 0
  for (let pass = 0; pass < QUIET_PASSES; pass++) {
    await untilQuiet(calls)
    const first = calls.length
    let endedAt = 0
    await service.post(`/v1/accounts/${accountId}/sync`, { kinds: [half] })
    const isUnderWay = () => calls.length === first || calls.slice(first).some(call => call.isUnderWay)
    while (isUnderWay() || Date.now() - endedAt < QUIET_MS) {
      if (isUnderWay()) endedAt = Date.now()
      await sleep(1)
    }
    const made = calls.slice(first)
    requests = made.length
    passes.push(endedAt - made[0]!.at)
    const again = performance.now()
    await replay.sendAll(made)
    bare.push(performance.now() - again)
  }
  report({
    measure: `quiet pass of ${requests} requests, p50 in ms`,
    result: short(median(passes)),
    yardstick: `the requests alone ${short(median(bare))}`,
    ratio: median(passes) / median(bare),
    target: '≤ 1.3',
  })
}
