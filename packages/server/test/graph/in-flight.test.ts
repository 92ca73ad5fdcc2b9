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
import { startPushRelay } from './push-relay.ts'
import { SOAK } from '../soak.ts'

/** A call is under way for about as long as at Microsoft, so that calls meet. */
const CALL_MS = 25
const MESSAGES = 40
const SLOTS = 3
const OK = new Set([200])
const APP = { clientId: 'sandbox', clientSecret: 'sandbox-secret' }
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

type Name = 'killed' | 'living' | 'follower'

interface Site {
  db: Db
  sandbox: SandboxServer
  /** Each process has one of its own. */
  proxies: Readonly<Record<Name, CallProxy>>
  processes: Readonly<Record<Name, ServiceProcess>>
  /** Clients of the processes with the API: of the one that is killed, and of the other. */
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

/** Two processes with the API and one that follows accounts. All their calls pass a proxy. */
async function openSite(stack: AsyncDisposableStack): Promise<Site> {
  const sandbox = stack.use(await startSandbox())
  const startProxy = async () => stack.use(await startCallProxy(sandbox))
  const proxies = { killed: await startProxy(), living: await startProxy(), follower: await startProxy() }
  const pushes = stack.use(await startPushRelay(() => living?.address))
  const external = stack.use(await makeExternalDatabase({ migrated: true }))
  const folder = stack.use(await makeDataFolder())
  const { db } = external.database
  const secret = randomBytes(32).toString('base64')
  const start = async (name: Name, roles: string) =>
    stack.use(
      await startServiceProcess(folder, {
        env: {
          DATABASE_URL: external.url,
          WAXWING_SECRET_KEY: secret,
          WAXWING_ROLES: roles,
          WAXWING_SANDBOX_URL: proxies[name].controlUrl,
          WAXWING_BASE_URL: pushes.url,
          WAXWING_MICROSOFT_CLIENT_ID: APP.clientId,
          WAXWING_MICROSOFT_CLIENT_SECRET: APP.clientSecret,
        },
      }),
    )
  let living: ServiceProcess | null = null
  const killed = await start('killed', 'api')
  living = await start('living', 'api,jobs')
  const follower = await start('follower', 'sync')
  const { id: tenantId } = await db.selectFrom('tenant').select('id').executeTakeFirstOrThrow()
  const callers = [killed, living].map(({ address }) => callerOf(address, killed.key))
  const app = { db, tenantId, keyRing: environmentKeyRing(secret) }
  for (const proxy of Object.values(proxies)) {
    proxy.onCall = call => {
      const mailbox = mailboxOf(call)
      const underWay = callsOf(proxies).filter(
        other => other.isUnderWay && mailboxOf(other) === mailbox,
      ).length
      if (mailbox) mostUnderWay.set(mailbox, Math.max(mostUnderWay.get(mailbox) ?? 0, underWay))
    }
    proxy.before = () => sleep(CALL_MS)
  }
  let users = 0
  return {
    db,
    sandbox,
    proxies,
    processes: { killed, living, follower },
    callers,
    async connect() {
      const email = `many-${++users}@office.test`
      await sandbox.addUser(email, { messages: MESSAGES, provider: 'microsoft', cloud: 'global' })
      const accountId = await addGraphAccount({ app, sandbox }, email)
      await waitForFirstSync(callers[1]!, accountId)
      const calls = () => callsOf(proxies).filter(call => mailboxOf(call) === email)
      return { email, accountId, calls, messages: await readMessages(callers[1]!, accountId) }
    },
  }
}

const callsOf = (proxies: Site['proxies']): ProxiedCall[] =>
  Object.values(proxies).flatMap(({ calls }) => calls)

const tokenOf = ({ headers }: ProxiedCall) => headers['authorization']?.slice('Bearer '.length)

/** The address of the user whose token a call has; null for calls of sign-in. */
function mailboxOf(call: ProxiedCall): string | null {
  const token = call.host.startsWith('graph.') ? tokenOf(call) : undefined
  return token === undefined ? null : String(decodeJwt(token)['upn'])
}

/** The call itself, and each part of a batch. */
function partsOf({
  path,
  headers,
  body,
}: ProxiedCall): Array<{ url: string; headers: ProxiedCall['headers'] }> {
  if (!path.startsWith('/v1.0/$batch')) return [{ url: path, headers }]
  const { requests } = JSON.parse(body) as {
    requests: Array<{ url: string; headers: ProxiedCall['headers'] }>
  }
  return [{ url: path, headers }, ...requests]
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
  const { callers, proxies } = site
  const eva = await site.connect()
  const countMost = () => mostUnderWay.get(eva.email) ?? 0
  const counts = Object.values(proxies).map(({ calls }) => calls.length)
  const allCall = () => Object.values(proxies).every(({ calls }, nth) => calls.length > counts[nth]!)
  const isSeen = () => countMost() >= SLOTS && allCall()
  for (let round = 0; round < ROUNDS_MIN || (round < ROUNDS_MAX && !isSeen()); round += 1) {
    // The follower looks at the mailbox meanwhile.
    const asking = callers[1]!.post(`/v1/accounts/${eva.accountId}/sync`, {})
    expect(await markAll(eva, round % 2 === 0)).toEqual(OK)
    expect((await asking).status).toBe(202)
  }
  expect(eva.calls().filter(({ status }) => status === 429)).toEqual([])
  expect(countMost()).toBe(SLOTS)
  expect(allCall()).toBe(true)
})

test('a storm of refusals has less than twice the calls of the budget', SOAK, async () => {
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
  const { db, proxies, processes, callers } = site
  const proxy = proxies.killed
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
  const count = proxies.living.calls.length
  expect(await markAll(unread, true, [callers[1]!])).toEqual(OK)
  const first = proxies.living.calls.slice(count).find(isWrite)
  expect(first!.at).toBeGreaterThanOrEqual(rows[0]!.until.getTime())
  expect(mostUnderWay.get(eva.email)).toBeLessThanOrEqual(SLOTS)
})

/** Does what makes calls of every kind: reading, searching, drafts, sends, changes of folders, and a new token. */
async function callForEverything({ accountId, messages }: Mailbox): Promise<void> {
  const [, caller] = site.callers
  const path = `/v1/accounts/${accountId}`
  const hasDone = async <T>(answer: Promise<{ status: number; body: T }>): Promise<T> => {
    const { status, body } = await answer
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }
  await sql`
    update oauth_grant set issued_at = issued_at - interval '61 minutes',
      expires_at = expires_at - interval '61 minutes', refresh_at = refresh_at - interval '61 minutes'
    where account_id = ${accountId}`.execute(site.db)
  const content = { to: [{ address: 'finn@office.test' }], subject: 'Figures', text: 'Here they are.' }
  const draft = await hasDone(caller!.post<{ id: string }>(`${path}/drafts`, content))
  await hasDone(caller!.put(`${path}/drafts/${draft.id}`, { ...content, text: 'Here.' }))
  const sent = await hasDone(caller!.post<{ id: string }>(`${path}/drafts/${draft.id}/send`))
  await hasDone(caller!.get(`${path}/search/messages?q=nothing&source=provider`))
  await hasDone(caller!.get(`${path}/messages/${messages[0]!.id}`))
  await hasDone(caller!.delete(`${path}/messages/${messages[1]!.id}`))
  const folder = await hasDone(caller!.post<{ id: string }>(`${path}/mailboxes`, { name: 'Kept' }))
  await hasDone(caller!.patch(`${path}/messages/${messages[2]!.id}`, { mailboxId: folder.id }))
  await waitUntil('the send', async () => {
    const { body } = await caller!.get<{ status: string }>(`${path}/outbox/${sent.id}`)
    return body.status === 'sent'
  })
}

test(
  'every call of every process asks for ids that last, has no token in its address, and was one of three',
  SOAK,
  async () => {
    const eva = await site.connect()
    await callForEverything(eva)
    const calls = callsOf(site.proxies)
    const made = new Set(
      calls.map(({ method, path }) => `${method} ${path.replace(/\?.*/, '').split('/').at(-1)}`),
    )
    for (const kind of [
      'POST token',
      'POST subscriptions',
      'POST $batch',
      'POST send',
      'GET delta',
      'GET $value',
    ])
      expect(made).toContain(kind)

    const graphCalls = calls.filter(({ host }) => host.startsWith('graph.')).flatMap(partsOf)
    for (const { headers } of graphCalls)
      expect(headers['prefer'] ?? headers['Prefer']).toContain('IdType="ImmutableId"')

    const accessTokens = calls.flatMap(call => tokenOf(call) ?? [])
    const refreshTokens = calls.flatMap(({ body }) => new URLSearchParams(body).get('refresh_token') ?? [])
    expect(refreshTokens).not.toEqual([])
    const secrets = [...new Set([...accessTokens, ...refreshTokens, APP.clientSecret])]
    for (const { url } of calls.flatMap(partsOf)) {
      expect(url).not.toMatch(/(?:access|refresh|id)_token=|secret=|assertion=|[?&]code=/)
      expect(secrets.filter(each => url.includes(each))).toEqual([])
    }
    expect(Math.max(...mostUnderWay.values())).toBe(SLOTS)
  },
)
