import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { type Random, seeded } from '../seeded.ts'
import { startChaosProxy } from '../servers/chaos-proxy.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { readTruth, type TrueMailbox } from '../servers/reference.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld, type World } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import { countUnannounced, foldFeed, type IndexState } from './fold-feed.ts'
import {
  connectMailbox,
  type FeedEvent,
  readFeed,
  readMailboxes,
  readMessages,
  waitForFirstSync,
} from './followed-account.ts'
import { type KillableService, openKillableService } from './killable-service.ts'
import { openOtherClient, type OtherClient, subjectOf } from './other-client.ts'

const SECONDS = 1_000
/** About how long it takes to store a batch. */
const STORING_MS = 12
/** A kill waits for at most this many lines until messages come. */
const STORING_LINES_MAX = 150
const REST_SECONDS_MAX = 90
/** Interval at which the service is asked to sync while a test waits for its result. */
const ASK_AGAIN_MS = 1_000

/** `WAXWING_SEEDS=40` runs 40 seeds on each server, `WAXWING_SEEDS=17-17` only seed 17. */
function seedsFor(kind: string): number[] {
  const [, from = '1', to] = /^(?:(\d+)-)?(\d+)$/.exec(process.env['WAXWING_SEEDS'] ?? '') ?? []
  const last = to === undefined ? (kind === 'Dovecot' ? 3 : 2) : Number(to)
  return Array.from({ length: last - Number(from) + 1 }, (_, index) => Number(from) + index)
}

let service: KillableService
beforeAll(async () => {
  service = await openKillableService()
}, 300 * SECONDS)
afterAll(() => service[Symbol.asyncDispose]())

/** The actions of other clients, taken at random commands of the service, and its kills. */
interface Disturbance {
  acts: number
  kills: number
  log: string[]
  failures: unknown[]
}

/**
 * Lets the other client act while the service's commands wait, and kills the service after some answer of the server.
 * If messages came, the kill is a few milliseconds later, when they are being stored.
 */
function disturb(client: OtherClient, random: Random, disturbance: Disturbance) {
  let acting: Promise<void> = Promise.resolve()
  let linesUntilKill = random.between(1, 150)
  return {
    hold() {
      if (disturbance.acts === 0 || !random.chance(0.4)) return undefined
      disturbance.acts--
      acting = acting
        .then(async () => void disturbance.log.push(await client.act()))
        .catch((error: unknown) => void disturbance.failures.push(error))
      return acting
    },
    rewrite(line: string) {
      linesUntilKill--
      const isStoring = linesUntilKill <= 0 && line.includes('BODY[')
      if (disturbance.kills > 0 && (isStoring || linesUntilKill < -STORING_LINES_MAX)) {
        disturbance.kills--
        disturbance.log.push('kill')
        linesUntilKill = random.between(1, 150)
        setTimeout(() => service.kill(), random.between(0, STORING_MS))
      }
      return line
    },
  }
}

function flagWords(flags: readonly string[]): string {
  return ['\\Seen', '\\Flagged', 'later', 'work'].filter(flag => flags.includes(flag)).join(' ')
}

function describeTruth(truth: readonly TrueMailbox[]): string[] {
  return truth
    .flatMap(({ path, messages, unseenCount }) => [
      `${path}: ${messages.length} messages, ${unseenCount} unread`,
      ...messages.map(({ subject, flags }) => `${path}: ${subject} ${flagWords(flags)}`),
    ])
    .toSorted()
}

function describeIndex({ mailboxes, messages }: IndexState): string[] {
  const paths = new Map([...mailboxes.values()].map(({ id, path }) => [id, path]))
  return [
    ...[...mailboxes.values()].map(
      ({ path, totalCount, unreadCount }) => `${path}: ${totalCount} messages, ${unreadCount} unread`,
    ),
    ...[...messages.values()].map(({ mailboxIds, subject, isRead, isFlagged, categories }) => {
      const flags = [...(isRead ? ['\\Seen'] : []), ...(isFlagged ? ['\\Flagged'] : []), ...categories]
      return `${mailboxIds.map(id => paths.get(id)).join()}: ${subject} ${flagWords(flags)}`
    }),
  ].toSorted()
}

/** Reads index and feed in one state: nothing was announced while they were read. */
async function readState(accountId: string): Promise<{ state: IndexState; events: FeedEvent[] }> {
  return waitUntil('a moment without an event', async () => {
    const { caller } = service
    const { events, cursor } = await readFeed(caller)
    const mailboxes = await readMailboxes(caller, accountId)
    const messages = await readMessages(caller, accountId)
    if ((await readFeed(caller, cursor)).events.length > 0) return null
    const state = {
      mailboxes: new Map(mailboxes.map(mailbox => [mailbox.id, mailbox])),
      messages: new Map(messages.map(message => [message.id, message])),
    }
    return { state, events: events.filter(event => event.accountId === accountId) }
  })
}

/** Waits until the other client is done and the index equals the server. */
async function comeToRest(server: MailServer, user: TestUser, accountId: string, disturbance: Disturbance) {
  let askedAt = performance.now()
  const askAgain = async () => {
    if (performance.now() - askedAt < ASK_AGAIN_MS) return
    askedAt = performance.now()
    await service.caller.post(`/v1/accounts/${accountId}/sync`)
  }
  await waitUntil(
    'others to be done',
    async () => {
      await askAgain()
      return disturbance.acts === 0 && disturbance.kills === 0
    },
    REST_SECONDS_MAX,
  )
  await waitForFirstSync(service.caller, accountId)
  let found: string[] = []
  let wanted: string[] = []
  const equal = await waitUntil(
    'the index to equal the server',
    async () => {
      await askAgain()
      wanted = describeTruth(await readTruth(server, user))
      found = describeIndex((await readState(accountId)).state)
      return wanted.join('\n') === found.join('\n')
    },
    REST_SECONDS_MAX,
  ).catch(() => false)
  expect(found, `not at rest after ${REST_SECONDS_MAX} s`).toEqual(wanted)
  expect(equal).toBe(true)
  return readState(accountId)
}

function byId<Item extends { id: string }>(items: ReadonlyMap<string, Item>): Item[] {
  return [...items.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

function withoutCounts({ mailboxes }: IndexState): Array<Partial<Mailbox>> {
  return byId(mailboxes).map(mailbox => ({ ...mailbox, totalCount: null, unreadCount: null }))
}

/** Subjects that were seen under several ids although there was never more than one copy. */
function renamedContents(
  unstable: ReadonlySet<number>,
  states: readonly IndexState[],
  feed: readonly FeedEvent[],
) {
  const copied = new Set([...unstable].map(subjectOf))
  const ids = new Map<string, Set<string>>()
  const seen = [
    ...states.flatMap(({ messages }) => [...messages.values()]),
    ...feed.flatMap(({ data }) => data.message ?? []),
  ]
  for (const { subject, id } of seen) {
    if (subject === null || copied.has(subject)) continue
    const held = ids.get(subject)
    if (held) held.add(id)
    else ids.set(subject, new Set([id]))
  }
  return [...ids].flatMap(([subject, held]) => (held.size > 1 ? [subject] : []))
}

/** Creates mailboxes with messages, some of them nested. */
async function furnish(
  server: MailServer,
  user: TestUser,
  world: World,
  random: Random,
): Promise<OtherClient> {
  const client = openOtherClient(world, server, random)
  for (const { path } of await readTruth(server, user)) client.mailboxes.set(path, new Map())
  const parent = world.at('Made 100')
  for (const path of [parent, `${parent}/Made 101`, world.at('Made 102')]) await client.create(path)
  for (const path of client.mailboxes.keys()) await client.deliver(path, random.between(1, 15))
  return client
}

/** Checks the feed since the first event of an account against the index at two times. */
function expectFeedToTell(
  before: { state: IndexState; events: FeedEvent[] },
  after: { state: IndexState; events: FeedEvent[] },
) {
  const [connected, initialized] = after.events
  expect([connected?.type, initialized?.type]).toEqual(['account.connected', 'account.initialized'])
  expect(countUnannounced(before.events, before.state)).toBe(initialized?.data.messages)

  const folded = foldFeed(before.state, after.events.slice(before.events.length))
  expect(byId(folded.messages)).toEqual(byId(after.state.messages))
  expect(withoutCounts(folded)).toEqual(withoutCounts(after.state))

  const created = after.events.filter(({ type }) => type === 'message.created')
  expect(new Set(created.map(({ data }) => data.message?.id)).size).toBe(created.length)
}

describe.each(SERVER_KINDS)('after random changes by others on $name', ({ name, start }) => {
  const useIt = useServer(start)

  test.each(seedsFor(name))(
    'and kills of the service, the index equals the server, and the feed reports every step (seed %i)',
    { timeout: 120 * SECONDS },
    async seed => {
      const server = useIt()
      const user = await server.addUser()
      const random = seeded(`${name} ${seed}`)
      await using world = await openWorld(server, user)
      const client = await furnish(server, user, world, random)
      await using proxy = await startChaosProxy(server)
      const accountId = await connectMailbox(service.caller, proxy, user)
      const log: string[] = []
      onTestFailed(() => void process.stderr.write(`${log.join('\n')}\n`))

      const first: Disturbance = { acts: 20, kills: 1, log, failures: [] }
      proxy.faults = disturb(client, random.fork('first'), first)
      const before = await comeToRest(server, user, accountId, first)
      // Nothing is promised before the first sync is complete: a message that moves meanwhile may be read twice.
      const movedEarly = new Set(client.moved)
      const second: Disturbance = { acts: 60, kills: 3, log, failures: [] }
      proxy.faults = disturb(client, random.fork('second'), second)
      const after = await comeToRest(server, user, accountId, second)

      expect([...first.failures, ...second.failures]).toEqual([])
      expectFeedToTell(before, after)
      const unstable = new Set([...client.copied, ...movedEarly])
      expect(renamedContents(unstable, [before.state, after.state], after.events)).toEqual([])
      await service.caller.delete(`/v1/accounts/${accountId}`)
    },
  )
})
