import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { TestApp, TestAppOptions } from '../open-app.ts'
import type { Faults } from '../servers/chaos-faults.ts'
import { type ChaosProxy, startChaosProxy } from '../servers/chaos-proxy.ts'
import { startDovecot } from '../servers/dovecot.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { openWorld, type World } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import {
  connectMailbox,
  type FeedEvent,
  openSyncApp,
  readFeed,
  waitForFirstSync,
} from './followed-account.ts'

/** A mailbox that the service reaches through a proxy of faults. The world does not use the proxy. */
export interface ProxiedAccount extends AsyncDisposable {
  app: TestApp
  server: MailServer
  proxy: ChaosProxy
  user: TestUser
  world: World
  accountId: string
  /** The end of the feed after the first sync. */
  cursor: string
}

export interface ProxiedAccountOptions extends TestAppOptions {
  faults?: Faults
  start?: () => Promise<MailServer>
  /** A server that other tests use, too, in place of a new one. */
  server?: MailServer
  /** The full history by default. */
  settings?: Record<string, unknown>
  /** Arranges the mailbox before it is connected. */
  arrange?(world: World): Promise<unknown>
  /** Called once the account is connected, as early as possible in its first sync. */
  onConnected?(proxy: ChaosProxy): void
}

/** Connects a mailbox through a proxy, and waits for the first sync. */
export async function openProxiedAccount(options: ProxiedAccountOptions = {}): Promise<ProxiedAccount> {
  const { faults, start = startDovecot, server: given, arrange, settings, ...rest } = options
  await using opened = new AsyncDisposableStack()
  const server = given ?? opened.use(await start())
  const proxy = opened.use(await startChaosProxy(server, faults))
  const user = await server.addUser()
  const world = opened.use(await openWorld(server, user))
  await arrange?.(world)
  const app = opened.use(await openSyncApp(rest))
  const accountId = await connectMailbox(app, proxy, user, settings)
  await waitForFirstSync(app, accountId)
  const { cursor } = await readFeed(app)
  const owned = opened.move()
  return {
    app,
    server,
    proxy,
    user,
    world,
    accountId,
    cursor,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** A short message with its own Message-ID; `number` makes it unique. */
export function shortMessage(number: number | string, internalDate = new Date(Date.UTC(2026, 0, 1))) {
  const head = `From: Ada <ada@a.test>\r\nTo: you@b.test\r\nSubject: message ${number}`
  return { raw: `${head}\r\nMessage-ID: <${number}@a.test>\r\n\r\nHello ${number}\r\n`, internalDate }
}

export function shortMessages(from: number, count: number) {
  return Array.from({ length: count }, (_, index) => shortMessage(from + index))
}

type Runtime = NonNullable<Account['runtime']>

export async function readRuntime(app: TestApp, accountId: string): Promise<Runtime | null> {
  const { body } = await app.get<Account>(`/v1/accounts/${accountId}`)
  return body.runtime
}

/** Waits until the owner of the account reports this state with such a detail. */
export function waitForRuntime(
  app: TestApp,
  accountId: string,
  state: Runtime['state'],
  detail = /.*/,
): Promise<Runtime> {
  return waitUntil(`the state ${state} with ${detail}`, async () => {
    const runtime = await readRuntime(app, accountId)
    return runtime?.state === state && detail.test(runtime.detail ?? '') ? runtime : null
  })
}

/** Requests a pass now, which also ends a wait after a failure. */
export async function askForSync(app: TestApp, accountId: string): Promise<void> {
  const { status } = await app.post(`/v1/accounts/${accountId}/sync`, {})
  if (status !== 202) throw new Error(`a sync was refused: ${status}`)
}

/** Waits for a condition, and ends each wait after a failure meanwhile. */
export async function retryUntil<T>(
  app: TestApp,
  accountId: string,
  awaited: string,
  look: () => Promise<T | null | false>,
): Promise<T> {
  let asked: string | null = null
  return waitUntil(awaited, async () => {
    const found = await look()
    if (found !== null && found !== false) return found
    const runtime = await readRuntime(app, accountId)
    if (runtime?.state !== 'backoff' || runtime.updatedAt === asked) return null
    asked = runtime.updatedAt
    await askForSync(app, accountId)
    return null
  })
}

/** The events of these types since a cursor as `type subject`, once there are this many. */
export async function waitForMessageEvents(app: TestApp, cursor: string, count: number): Promise<string[]> {
  return waitUntil(`${count} events about messages`, async () => {
    const told = messageEvents((await readFeed(app, cursor)).events)
    return told.length >= count ? told : null
  })
}

export function messageEvents(events: readonly FeedEvent[]): string[] {
  return events.flatMap(({ type, data }) => (data.message ? [`${type} ${data.message.subject}`] : []))
}

/**
 * Waits until a pass that began after this call has succeeded. A change that is not announced by then never will be.
 */
export async function waitForAnotherPass(proxy: ChaosProxy): Promise<void> {
  const lists = () => proxy.stats.commands.get('LIST') ?? 0
  const before = lists()
  // The second list comes after the pass of the first one.
  await waitUntil('another pass', () => Promise.resolve(lists() >= before + 2))
}
