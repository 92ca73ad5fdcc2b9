import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { expect, onTestFailed, test } from 'vitest'
import { CLOUDS as PLAYED } from '../../../sandbox/src/microsoft/clouds.ts'
import { pause } from '../../src/processes/nudge.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import { actHere } from '../changing/act-here.ts'
import { type Random, seeded } from '../seeded.ts'
import type { SandboxServer } from '../servers/sandbox.ts'
import { useServer } from '../servers/shared-server.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { subjectOf } from '../sync/other-client.ts'
import { describeIndex, expectFeedToTell, readState, renamedContents } from '../sync/rest.ts'
import { waitUntil } from '../wait-until.ts'
import { actThere, letterOf } from './act-there.ts'
import { describeText, readTruth } from './graph-truth.ts'
import { type KillableAccount, openKillableGraph } from './killable-graph.ts'
import { casesFor, numberFor } from '../soak.ts'

const CHANGES = numberFor({ ci: 20, soak: 40 })
const KILLS = numberFor({ ci: 1, soak: 2 })
/** Messages of a mailbox when it is connected. */
const LETTERS = 12
const LOOK_AGAIN_MS = 200
/** Together they strike every tenth call of the service, but none of the other client, whose calls have another path. */
const FAULTS = [
  { does: 'error', status: 503, probability: 0.03 },
  { does: 'lost', probability: 0.03 },
  { does: 'torn', probability: 0.02 },
  { does: 'unauthorized', probability: 0.01 },
  { does: 'rate_limit', retryAfterSeconds: 1, probability: 0.01 },
]
const STRUCK = ['/v1.0/users/*', '/v1.0/$batch', '/v1.0/subscriptions*']
const QUIET_PUSHES = { drop: 0, copies: 1, delayMilliseconds: 0, missed: false, minutesMax: 10_080 }
const KIND_GRAPH = { arrivals: 'told', repeats: 0, sparse: 0, generationsKept: null, notFoundAfterNotice: 0 }

const PROGRAM = fileURLToPath(new URL('quick-graph-service.ts', import.meta.url))
const opened = useServer(() => openKillableGraph({ program: PROGRAM }))

let made = 0
const next = () => ++made

/** Changes how Graph behaves, lets links expire, or ends a subscription. */
async function upset(sandbox: SandboxServer, email: string, random: Random): Promise<string> {
  const kind = random.between(0, 9)
  if (kind < 3) {
    const settings = {
      drop: random.pick([0, 0.5, 1]),
      copies: random.pick([1, 2]),
      // The delay differs, so that pushes overtake each other.
      delayMilliseconds: random.pick([0, 100, 1_500]),
      missed: random.chance(0.5),
      minutesMax: random.pick([1, 10_080]),
    }
    await sandbox.configurePushes({ provider: 'microsoft', ...settings })
    return JSON.stringify(settings)
  }
  if (kind < 5) {
    const at = random.pick(['next', 'delta'] as const)
    await sandbox.expireHistory(email, at)
    return `expire ${at}`
  }
  if (kind < 6) {
    const event = random.pick(['reauthorizationRequired', 'subscriptionRemoved', 'missed'])
    await sandbox.control('POST', '/subscriptions/events', { event, user: email })
    return event
  }
  const settings = {
    arrivals: random.pick(['told', 'lost', 'random']),
    repeats: random.pick([0, 0.4]),
    sparse: random.pick([0, 0.5]),
    generationsKept: random.pick([null, 1, 3]),
    notFoundAfterNotice: random.pick([0, 2]),
  }
  await sandbox.control('PATCH', '/graph', settings)
  return JSON.stringify(settings)
}

async function killSoon(random: Random): Promise<string> {
  await pause(random.between(0, 30))
  await opened().kill()
  await opened().restart()
  return 'kill'
}

/** Everything that the index has and Graph has, each in words. */
async function readBoth({
  accountId,
  client,
}: KillableAccount): Promise<{ truth: string[]; index: string[] }> {
  const { state } = await readState(opened().caller(), accountId)
  const texts = [...state.messages.values()].map(describeText)
  return { truth: await readTruth(client), index: [...describeIndex(state), ...texts.toSorted()] }
}

/** Waits until the index equals Graph. */
async function comeToRest(account: KillableAccount): Promise<void> {
  const { db, caller } = opened()
  // After that many faults the sync may be waiting for minutes.
  await caller().post(`${account.path}/sync`, {})
  let seen = await readBoth(account)
  await waitUntil('the index to equal Graph', async () => {
    if (seen.truth.join('\n') === seen.index.join('\n')) return true
    await pause(LOOK_AGAIN_MS)
    // Messages that could not be read are due again.
    await sql`update quarantined_message set next_attempt_at = clock_timestamp()
      where next_attempt_at > clock_timestamp()`.execute(db)
    seen = await readBoth(account)
    return false
  }).catch(() => expect(seen.index).toEqual(seen.truth))
}

const WALKED_CLOUDS = casesFor(['global', 'china'] as const, cloud => cloud === 'china')

test.each(seedsFor(1).flatMap(seed => WALKED_CLOUDS.map(cloud => ({ cloud, seed }))))(
  'after random changes by the interface and by another client, with faults and kills, the index equals Graph and the feed (on $cloud, seed $seed)',
  { timeout: 300_000 },
  async ({ cloud, seed }) => {
    const { sandbox, caller, connect, output } = opened()
    const random = seeded(`graph changes ${cloud} ${seed}`)
    const log = [`${cloud}, seed ${seed}:`]
    onTestFailed(() => {
      const troubles = output()
        .split('\n')
        .filter(line => /"level":"(warn|error)"/.test(line))
      process.stdout.write([...log, ...troubles.slice(-3), ''].join('\n'))
    })
    const email = `any-change-${cloud}-${seed}@office.test`
    const deliver = (message: string) => sandbox.deliver(email, message)
    const account = await connect(email, {
      cloud,
      arrange: async client => {
        for (let count = 0; count < LETTERS; count++) await deliver(letterOf(next()))
        for (const name of ['One', 'Two']) await client.createFolder(name)
      },
    })
    const { accountId, path, client } = account
    const before = await readState(caller(), accountId)
    const here = {
      caller,
      path,
      accountId,
      random: random.fork('here'),
      hasLabels: false,
      next,
      draftSubject: subjectOf,
    }
    const { permanentDelete: hasPermanentDelete } = PLAYED[cloud].has
    const there = { client, random: random.fork('there'), hasPermanentDelete, next, deliver }
    const killsAt = new Set(Array.from({ length: KILLS }, () => random.between(5, CHANGES - 5)))
    for (const fault of FAULTS)
      for (const struck of STRUCK)
        await sandbox.addFault({ ...fault, host: CLOUDS[cloud].graph, path: struck })

    for (let count = 0; count < CHANGES; count++) {
      if (random.chance(0.3)) log.push(await upset(sandbox, email, random))
      log.push(
        ...(await Promise.all([
          random.chance(0.6) ? actHere(here) : '',
          random.chance(0.7) ? actThere(there) : '',
          killsAt.has(count) ? killSoon(random) : '',
        ])),
      )
    }
    await sandbox.clearFaults()
    await sandbox.configurePushes({ provider: 'microsoft', ...QUIET_PUSHES })
    await sandbox.control('PATCH', '/graph', KIND_GRAPH)
    await comeToRest(account)
    const after = await readState(caller(), accountId)
    expectFeedToTell(before, after)
    expect((await caller().get(path)).body['status']).toBe('active')
    expect(renamedContents(new Set(), [before.state, after.state], after.events)).toEqual([])
  },
)
