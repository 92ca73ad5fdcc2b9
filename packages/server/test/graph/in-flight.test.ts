import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeJwt } from 'jose'
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { environmentKeyRing } from '../../src/kit/key-ring.ts'
import { type Caller, callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { type CallProxy, type ProxiedCall, startCallProxy } from '../servers/call-proxy.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { makeDataFolder, type ServiceProcess, startServiceProcess } from '../service-process.ts'
import { readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { addGraphAccount } from './open-graph-app.ts'

/** A call is under way for about as long as at Microsoft, so that calls meet. */
const CALL_MS = 25
const MESSAGES = 40
const SLOTS = 3
const OK = new Set([200])
/** Callers of each process. */
const AT_ONCE = 6
/** Times that all messages are marked. More are needed only if the calls of the processes do not meet. */
const ROUNDS_MIN = 2
const ROUNDS_MAX = 20
/** Longer than the first pauses where Graph names no time. */
const STORM_MS = 5_000
/** Messages that the callers of a storm mark, one each. */
const STORM_MESSAGES = 2 * AT_ONCE
/** In a storm callers try again after this pause, which leaves the processor to the processes. */
const STORM_PAUSE_MS = 50

interface Site {
  db: Db
  sandbox: SandboxServer
  proxy: CallProxy
  processes: { killed: ServiceProcess; living: ServiceProcess; follower: ServiceProcess }
  callers: readonly Caller[]
  /** Connects a new mailbox, and waits for its first sync. */
  connect(): Promise<Mailbox>
}

interface Mailbox {
  email: string
  accountId: string
  messages: readonly MessageSummary[]
  /** The calls to the mailbox. */
  calls(): ProxiedCall[]
}

let opened: AsyncDisposableStack
let site: Site
/** By mailbox. */
const mostUnderWay = new Map<string, number>()

beforeAll(async () => {
  await using stack = new AsyncDisposableStack()
  site = await openSite(stack)
  opened = stack.move()
})
afterAll(() => opened.disposeAsync())

/** Two processes with the API and one that follows accounts. All their calls pass the proxy. */
async function openSite(stack: AsyncDisposableStack): Promise<Site> {
  const sandbox = stack.use(await startSandbox())
  const proxy = stack.use(await startCallProxy(sandbox))
  const external = stack.use(await makeExternalDatabase({ migrated: true }))
  const folder = stack.use(await makeDataFolder())
  const { db } = external.database
  const secret = randomBytes(32).toString('base64')
  const start = async (roles: string) =>
    stack.use(
      await startServiceProcess(folder, {
        env: {
          DATABASE_URL: external.url,
          WAXWING_SECRET_KEY: secret,
          WAXWING_ROLES: roles,
          WAXWING_SANDBOX_URL: proxy.controlUrl,
        },
      }),
    )
  const killed = await start('api')
  const [living, follower] = [await start('api,jobs'), await start('sync')]
  const { id: tenantId } = await db.selectFrom('tenant').select('id').executeTakeFirstOrThrow()
  const callers = [killed, living].map(({ address }) => callerOf(address, killed.key))
  const app = { db, tenantId, keyRing: environmentKeyRing(secret) }
  proxy.onCall = call => {
    const mailbox = mailboxOf(call)
    const underWay = proxy.calls.filter(other => other.isUnderWay && mailboxOf(other) === mailbox).length
    if (mailbox) mostUnderWay.set(mailbox, Math.max(mostUnderWay.get(mailbox) ?? 0, underWay))
  }
  proxy.before = () => sleep(CALL_MS)
  let users = 0
  return {
    db,
    sandbox,
    proxy,
    processes: { killed, living, follower },
    callers,
    async connect() {
      const email = `many-${++users}@office.test`
      await sandbox.addUser(email, { messages: MESSAGES, provider: 'microsoft', cloud: 'global' })
      const accountId = await addGraphAccount({ app, sandbox }, email)
      await waitForFirstSync(callers[1]!, accountId)
      const calls = () => proxy.calls.filter(call => mailboxOf(call) === email)
      return { email, accountId, calls, messages: await readMessages(callers[1]!, accountId) }
    },
  }
}

const tokenOf = ({ headers }: ProxiedCall) => headers['authorization']?.slice('Bearer '.length)

/** The address of the user whose token a call has; null for calls of sign-in. */
function mailboxOf(call: ProxiedCall): string | null {
  const token = call.host.startsWith('graph.') ? tokenOf(call) : undefined
  return token === undefined ? null : String(decodeJwt(token)['upn'])
}

/** The calls that are made by each part of a batch, or by the call itself. */
function partsOf({ path, headers, body }: ProxiedCall): Array<Record<string, string>> {
  if (!path.startsWith('/v1.0/$batch')) return [headers]
  const { requests } = JSON.parse(body) as { requests: { headers: Record<string, string> }[] }
  return [headers, ...requests.map(request => request.headers)]
}

/** Marks messages by processes of the API at the same time. @returns the statuses of the answers */
async function markAll(
  { accountId, messages }: Pick<Mailbox, 'accountId' | 'messages'>,
  isRead: boolean,
  callers = site.callers,
): Promise<Set<number>> {
  const statuses = new Set<number>()
  const left = messages.values()
  const markSome = async (caller: Caller) => {
    for (const { id } of left)
      statuses.add((await caller.patch(`/v1/accounts/${accountId}/messages/${id}`, { isRead })).status)
  }
  await Promise.all(callers.flatMap(caller => Array.from({ length: AT_ONCE }, () => markSome(caller))))
  return statuses
}

test('three processes have three calls to a mailbox under way together, and never more', async () => {
  const { callers } = site
  const eva = await site.connect()
  const countMost = () => mostUnderWay.get(eva.email) ?? 0
  for (let round = 0; round < ROUNDS_MIN || (round < ROUNDS_MAX && countMost() < SLOTS); round += 1) {
    // The follower looks at the mailbox meanwhile.
    const asking = callers[1]!.post(`/v1/accounts/${eva.accountId}/sync`, {})
    expect(await markAll(eva, round % 2 === 0)).toEqual(OK)
    expect((await asking).status).toBe(202)
  }
  expect(eva.calls().filter(({ status }) => status === 429)).toEqual([])
  expect(countMost()).toBe(SLOTS)
})

test('every call asks for ids that last, and none has a token in its address', () => {
  const { calls } = site.proxy
  const graphCalls = calls.filter(({ host }) => host.startsWith('graph.'))
  expect(graphCalls.length).toBeGreaterThan(MESSAGES)
  for (const headers of graphCalls.flatMap(partsOf))
    expect(headers['prefer'] ?? headers['Prefer']).toContain('IdType="ImmutableId"')
  const tokens = new Set(calls.flatMap(call => tokenOf(call) ?? []))
  expect(tokens.size).toBeGreaterThan(0)
  for (const { path } of calls) {
    expect(path).not.toMatch(/(?:access|refresh|id)_token=|secret=|[?&]code=/)
    for (const token of tokens) expect(path).not.toContain(token)
  }
})

test('a storm of refusals has less than twice the calls of the budget', async () => {
  const { sandbox } = site
  const eva = await site.connect()
  const sofar = (await sandbox.calls({ user: eva.email })).items.length
  const budget = sofar + 30
  await sandbox.control('PATCH', '/graph', { callsMax: budget, windowSeconds: 3_600, retryAfter: 'mixed' })
  try {
    const until = Date.now() + STORM_MS
    const some = { ...eva, messages: eva.messages.slice(0, STORM_MESSAGES) }
    let statuses = new Set<number>()
    for (let asked = 0; Date.now() < until || asked < 3 * budget; asked += STORM_MESSAGES) {
      statuses = await markAll(some, asked % (2 * STORM_MESSAGES) === 0)
      await sleep(STORM_PAUSE_MS)
    }
    expect(statuses).toEqual(new Set([429]))
    const { items } = await sandbox.calls({ user: eva.email })
    expect(items.length).toBeGreaterThan(budget)
    expect(items.length).toBeLessThan(2 * budget)
  } finally {
    await sandbox.control('PATCH', '/graph', { callsMax: 10_000, windowSeconds: 600, retryAfter: 'given' })
  }
})

test('the slots of a killed process come back with its lease', async () => {
  const { db, proxy, processes, callers } = site
  const eva = await site.connect()
  const before = proxy.before
  const isWrite = ({ method }: ProxiedCall) => method === 'PATCH'
  let isHeld = true
  // Calls of the process that is killed stay under way.
  proxy.before = call => (isHeld && isWrite(call) ? new Promise(() => {}) : before!(call))
  const unread = { ...eva, messages: eva.messages.filter(({ isRead }) => !isRead) }
  void markAll(unread, true, [callers[0]!]).catch(() => {})
  await waitUntil(
    'both slots in use',
    async () => eva.calls().filter(each => each.isUnderWay && isWrite(each)).length === 2,
  )
  const { rows } = await sql<{ until: Date }>`
    select max(heartbeat_until) as until from instance
    join graph_slot on graph_slot.instance = instance.id
  `.execute(db)
  processes.killed.kill('SIGKILL')
  await processes.killed.ended
  isHeld = false
  const count = eva.calls().length
  expect(await markAll(unread, true, [callers[1]!])).toEqual(OK)
  const first = eva.calls().slice(count).find(isWrite)
  expect(first!.at).toBeGreaterThanOrEqual(rows[0]!.until.getTime())
  expect(mostUnderWay.get(eva.email)).toBeLessThanOrEqual(SLOTS)
})
