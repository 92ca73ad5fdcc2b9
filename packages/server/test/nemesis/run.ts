import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { callerOf } from '../caller.ts'
import { createEndpoint } from '../notifications/open-webhooks.ts'
import { type Random, seeded } from '../seeded.ts'
import { readFeed } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { openAccounts } from './accounts.ts'
import { type Bed, openBed } from './bed.ts'
import type { RunEndpoint } from './clients/edit-endpoints.ts'
import { type Clients, type Load, startClients } from './clients/start-clients.ts'
import { collectEnd } from './collect.ts'
import { doFault } from './do-fault.ts'
import type { Bounds } from './evidence.ts'
import { type Failover, measureFailovers, percentile } from './failovers.ts'
import { type FaultKind, type PlannedFault, planFaults } from './fault-plan.ts'
import { entriesOf, type History, openHistory } from './history.ts'
import { openHangers } from './hangers.ts'
import { judge } from './judge.ts'
import { openLeavers } from './leavers.ts'
import type { Layout } from './processes.ts'
import { probeNeighbours } from './probe-neighbours.ts'
import { settle, type Unsettled } from './settle.ts'
import { takeSnapshot } from './snapshot.ts'
import type { StoresKind } from './stores.ts'
import { createKeyOfTenant } from './tenants.ts'
import type { Violation } from './violation.ts'

export interface RunOptions {
  seed: number
  layout: Layout
  stores: StoresKind
  /** How long faults are done for; setting up and coming to rest take their own time. */
  seconds: number
  /** Accounts of IMAP; some of Graph come on top. */
  accounts: number
  /** The folder of the history, the logs of all processes and the result. */
  folder: string
  /** Shorter faults, less load, and no promise of speed is judged: for a run that is part of the tests. */
  isShort: boolean
  /** Only faults of these kinds, if given. */
  only?: ReadonlySet<FaultKind> | undefined
  say: (line: string) => void
}

export interface RunResult {
  violations: Violation[]
  /** Work that was not at rest after its time. */
  unsettled: Unsettled
  counts: Record<string, number>
}

const SETTLE_SECONDS_MAX = 300
const READERS_SECONDS_MAX = 60
const VIOLATIONS_SHOWN_MAX = 40
const LEAVERS = { short: 2, long: 6 } as const
const LOAD: Record<'short' | 'long', Load> = {
  short: { doubledShare: 0, isBrokenOff: false },
  long: { doubledShare: 0.15, isBrokenOff: true },
}
/** Requests of the limited tenant in a minute, and of one that stays far from its limit. */
const CALLS_PER_MINUTE = { limited: 57, counted: 100_000 } as const
const COUNTED_SECONDS_MAX = 60
const BOUNDS: Record<'short' | 'long', Bounds> = {
  short: { shared: 30, unowned: null, neighbour: 60 },
  long: { shared: 10, unowned: 30, neighbour: 20 },
}

/** Runs the service under faults and judges what came of it. */
export async function runNemesis(options: RunOptions): Promise<RunResult> {
  const { seed, layout, stores, seconds, folder, isShort } = options
  const pace = isShort ? 'short' : 'long'
  const begun = performance.now()
  const say = (line: string) =>
    options.say(`${((performance.now() - begun) / 1_000).toFixed(1).padStart(6)} s  ${line}`)
  await mkdir(folder, { recursive: true })
  using history = openHistory(join(folder, 'history.jsonl'))
  const random = seeded(`nemesis ${seed} ${layout}`)
  say(
    `seed ${seed}, layout ${layout}, stores ${stores}, ${seconds} s of faults, ${options.accounts} accounts`,
  )
  await using bed = await openBed({ layout, stores, isShort }, random.fork('bed'), history)
  try {
    await using accounts = await openAccounts(bed, options.accounts, random.fork('accounts'))
    const leaving = await openLeavers(bed, LEAVERS[pace])
    await using hangers = isShort ? null : await openHangers(bed)
    const keys = await openLimitedTenants(bed)
    const endpoints = await openEndpoints(bed)
    const before = await takeSnapshot(bed, accounts.all)
    await hangers?.fill()
    say(`ready: ${accounts.all.length} accounts are followed, ${endpoints.length} endpoints`)

    await using clients = startClients({
      bed,
      accounts,
      endpoints,
      leaving,
      keys,
      load: LOAD[pace],
      history,
      random: random.fork('clients'),
    })
    const faults = planFaults(random.fork('faults'), {
      seconds,
      processes: bed.slots.length,
      hasStores: bed.stores !== null,
      isShort,
      only: options.only,
    })
    await doFaults({ bed, faults, seconds, random: random.fork('doing'), history, say })
    bed.receivers.calm()
    const neighbours = hangers
      ? await probeNeighbours(bed, {
          hangers,
          accounts: accounts.sending,
          history,
          random: random.fork('probing'),
        })
      : []
    hangers?.release()
    await clients.end()
    say('the faults are over, coming to rest')

    const unsettled = await settle(bed, { accounts: accounts.all, endpoints }, SETTLE_SECONDS_MAX)
    for (const what of unsettled) say(`  not at rest: ${what}`)
    say('at rest')
    await endReading(bed, clients)
    const end = await collectEnd(bed, {
      accounts: accounts.all,
      endpoints,
      leavers: leaving.leavers,
      countedKey: keys.counted,
      before,
      neighbours,
      bounds: BOUNDS[pace],
      history,
    })
    await writeFile(join(folder, 'end.json'), JSON.stringify(end, null, 1))
    const violations = judge({ history: history.entries, end })
    const { made, struck, throttled } = await bed.office.countCalls()
    const counts = {
      ...countEntries(history),
      'calls to Microsoft Graph': made,
      'calls to Graph that a fault struck': struck,
      'calls that Graph refused for their pace': throttled,
    }
    const result = { violations, unsettled, counts }
    const locked = new Set(accounts.locked.map(({ user }) => user.user))
    // Whether an account is followed whose password changes is not only up to the processes.
    const followed = history.entries.filter(entry => entry.type !== 'session' || !locked.has(entry.user))
    reportFailovers(measureFailovers(followed), say)
    report(result, say)
    return result
  } finally {
    for (const [number, slot] of bed.slots.entries())
      await writeFile(join(folder, `process-${number}.log`), slot.output())
  }
}

async function openEndpoints(bed: Bed): Promise<RunEndpoint[]> {
  const caller = callerOf(bed.addresses()[0] ?? '', bed.key)
  const endpoints: RunEndpoint[] = []
  for (const name of bed.endpoints.keys()) {
    const { endpoint } = await createEndpoint(caller, bed.receivers.urlOf(name))
    endpoints.push({ name, id: endpoint.id, wasDisabled: false })
  }
  return endpoints
}

/** Keys of two tenants with limits. Every process that answers has read their plans. */
async function openLimitedTenants(bed: Bed): Promise<{ limited: string; counted: string }> {
  const keys = {
    limited: await createKeyOfTenant(bed, 'limited', CALLS_PER_MINUTE.limited),
    counted: await createKeyOfTenant(bed, 'counted', CALLS_PER_MINUTE.counted),
  }
  for (const address of bed.addresses()) {
    const isCounted = async () =>
      (await callerOf(address, keys.counted).get('/v1/accounts')).headers.has('ratelimit-limit')
    await waitUntil('requests to be counted', isCounted, COUNTED_SECONDS_MAX)
  }
  return keys
}

interface Doing {
  bed: Bed
  faults: readonly PlannedFault[]
  seconds: number
  random: Random
  history: History
  say: (line: string) => void
}

/** Does what is planned: at most one fault of each track at a time. */
async function doFaults({ bed, faults, seconds, random, history, say }: Doing): Promise<void> {
  const begun = performance.now()
  const elapsed = () => (performance.now() - begun) / 1_000
  const doTrack = async (track: readonly PlannedFault[]) => {
    for (const fault of track) {
      await sleep(Math.max(0, fault.atSeconds - elapsed()) * 1_000)
      // Earlier faults took longer than planned.
      if (elapsed() > seconds) return
      const whose = fault.process === null ? '' : ` of ${bed.slots[fault.process]?.processName}`
      say(`${fault.kind}${whose}, ${fault.seconds.toFixed(1)} s`)
      await doFault(bed, fault, random, history)
    }
  }
  const tracks = Map.groupBy(faults, ({ track }) => track)
  await Promise.all([...[...tracks.values()].map(doTrack), sleep(seconds * 1_000)])
}

/** Lets the readers of the feed read to its end. */
async function endReading(bed: Bed, { positions, endReading: end }: Clients): Promise<void> {
  const { events } = await readFeed(callerOf(bed.addresses()[0] ?? '', bed.key))
  const last = BigInt(events.at(-1)?.id ?? 0)
  const haveRead = async () => positions.every(({ lastId }) => lastId !== null && BigInt(lastId) >= last)
  await waitUntil('the readers of the feed', haveRead, READERS_SECONDS_MAX).catch(() => null)
  await end()
}

function countEntries({ entries }: History): Record<string, number> {
  const requests = entriesOf(entries, 'request')
  const webhooks = entriesOf(entries, 'webhook')
  return {
    'requests answered with a success': requests.filter(({ outcome }) => outcome === 'ok').length,
    'requests refused': requests.filter(({ outcome }) => outcome === 'refused').length,
    'requests without a clear outcome': requests.filter(({ outcome }) => outcome === 'unknown').length,
    'requests refused at the limit of a minute': requests.filter(({ code }) => code === 'rate_limited')
      .length,
    'stored messages downloaded': entriesOf(entries, 'body').length,
    'accounts deleted': entriesOf(entries, 'deletion').length,
    'webhooks acknowledged': webhooks.filter(({ status }) => status !== null && status < 300).length,
    'webhooks not acknowledged': webhooks.filter(({ status }) => status === null || status >= 300).length,
    'sessions of followers': entriesOf(entries, 'session').length,
    faults: entriesOf(entries, 'fault').length,
  }
}

function report({ violations, counts }: RunResult, say: (line: string) => void): void {
  for (const [what, count] of Object.entries(counts)) say(`  ${String(count).padStart(7)} ${what}`)
  say(`${violations.length} violations`)
  for (const { invariant, message } of violations.slice(0, VIOLATIONS_SHOWN_MAX))
    say(`  ${invariant}: ${message}`)
  if (violations.length > VIOLATIONS_SHOWN_MAX) say(`  and ${violations.length - VIOLATIONS_SHOWN_MAX} more`)
}

function reportFailovers(failovers: readonly Failover[], say: (line: string) => void): void {
  for (const isDisturbed of [false, true]) {
    const seconds = failovers.filter(one => one.isDisturbed === isDisturbed).map(one => one.seconds)
    if (seconds.length === 0) continue
    const said = [50, 95, 99].map(share => `p${share} ${percentile(seconds, share / 100)?.toFixed(1)} s`)
    const meanwhile = isDisturbed ? 'with another fault meanwhile' : 'with no other fault meanwhile'
    say(
      `  ${seconds.length} accounts of killed processes were followed again, ${meanwhile}: ${said.join(', ')}`,
    )
  }
}
