import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { describe, expect, test } from 'vitest'
import type { TestApp } from '../open-app.ts'
import { startChaosProxy } from '../servers/chaos-proxy.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import { connectMailbox, openSyncApp, readMessages, waitForFirstSync } from './followed-account.ts'
import { openProxiedAccount, shortMessages, waitForRuntime } from './proxied-account.ts'

const useIt = useServer(() => startDovecot())
const MESSAGES = 2_000

/** Opens an account in the middle of its first sync, which the proxy slows down. */
async function openSlowAccount() {
  await using opened = new AsyncDisposableStack()
  const server = useIt()
  const proxy = opened.use(await startChaosProxy(server))
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  await world.deliver(shortMessages(1, MESSAGES))
  const app = opened.use(await openSyncApp())
  proxy.faults = { bytesPerSecond: 60_000 }
  const accountId = await connectMailbox(app, proxy, user)
  await waitUntil('the first messages', async () => (await countMessages()) > 0)
  // Requests from now on take longer than the test.
  proxy.faults = { bytesPerSecond: 1_000 }
  const owned = opened.move()
  return { app, proxy, accountId, countMessages, [Symbol.asyncDispose]: () => owned.disposeAsync() }

  async function countMessages() {
    const { count } = await app.db
      .selectFrom('message')
      .select(({ fn }) => fn.countAll<string>().as('count'))
      .executeTakeFirstOrThrow()
    return Number(count)
  }
}

describe.concurrent('an account that waits for mail', () => {
  test.each([
    ['paused', (app: TestApp, path: string) => app.patch(path, { status: 'paused' })],
    ['deleted', (app: TestApp, path: string) => app.delete(path)],
  ])('closes its connection at once when it is %s', async (_, stop) => {
    await using account = await openProxiedAccount({ server: useIt(), pace: { pollSeconds: 600 } })
    const { app, proxy, accountId } = account
    await waitUntil('IDLE', () => Promise.resolve(proxy.stats.commands.has('IDLE')))
    expect((await stop(app, `/v1/accounts/${accountId}`)).status).toBe(200)
    await waitUntil('the connection to end', () => Promise.resolve(proxy.stats.connections === 0))
  })
})

describe.concurrent('an account in the middle of its first sync', () => {
  test('stops when it is paused, and continues where it was when it is resumed', async () => {
    await using account = await openSlowAccount()
    const { app, proxy, accountId, countMessages } = account
    expect((await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })).status).toBe(200)
    const held = await countMessages()
    await waitForRuntime(app, accountId, 'stopped', /paused_by_user/)
    await waitUntil('the connection to end', () => Promise.resolve(proxy.stats.connections === 0))
    expect(await countMessages()).toBe(held)
    expect(held).toBeLessThan(MESSAGES)

    proxy.faults = {}
    const before = proxy.stats.connectedAt.length
    expect((await app.patch(`/v1/accounts/${accountId}`, { status: 'active' })).status).toBe(200)
    await waitForFirstSync(app, accountId)
    expect(await readMessages(app, accountId)).toHaveLength(MESSAGES)
    expect(proxy.stats.connectedAt.length).toBe(before + 1)
  })

  test('stops at once when it is deleted, and writes nothing afterwards', async () => {
    await using account = await openSlowAccount()
    const { app, proxy, accountId, countMessages } = account
    expect((await app.delete(`/v1/accounts/${accountId}`)).status).toBe(200)
    const held = await countMessages()
    await waitUntil('the connection to end', () => Promise.resolve(proxy.stats.connections === 0))
    expect(await countMessages()).toBe(held)
    expect((await app.get<Account>(`/v1/accounts/${accountId}`)).status).toBe(404)
  })
})
