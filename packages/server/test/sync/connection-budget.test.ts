import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { expect, test } from 'vitest'
import { startChaosProxy } from '../servers/chaos-proxy.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { openWorld } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import { connectMailbox, openSyncApp, readFeed, waitForFirstSync } from './followed-account.ts'
import { messageEvents, shortMessage, shortMessages } from './proxied-account.ts'
import { numberFor } from '../soak.ts'

const ACCOUNTS = numberFor({ ci: 12, soak: 30 })
const CONNECTIONS = 3

test.concurrent(`${ACCOUNTS} accounts share three connections to their server, even if it disconnects them all`, async () => {
  await using server = await startDovecot()
  await using proxy = await startChaosProxy(server)
  await using api = await openSyncApp({ roles: ['api'] })
  const users = await Promise.all(Array.from({ length: ACCOUNTS }, () => server.addUser()))
  const ids: string[] = []
  for (const user of users) {
    await using world = await openWorld(server, user)
    await world.deliver(shortMessages(1, 3))
    // One after another: another process checks the logins, with its own budget.
    ids.push(await connectMailbox(api, proxy, user))
  }
  await waitUntil('the end of the checks', () => Promise.resolve(proxy.stats.connections === 0))
  proxy.stats.connectionsMax = 0

  // A pass over an idle account takes much less than the interval between two, and no account may keep a connection
  // that long.
  const pace = { pollSeconds: 5 }
  // The process that answers requests has one more.
  const config = { connectionsPerHost: CONNECTIONS + 1 }
  await using app = await openSyncApp({
    database: api.database,
    keyRing: api.keyRing,
    roles: ['sync'],
    config,
    pace,
  })
  const initialized = async () => {
    const { body } = await api.get<{ items: Account[] }>('/v1/accounts?limit=100')
    return body.items.filter(({ initializedAt }) => initializedAt !== null).map(({ id }) => id)
  }
  await waitUntil('the first sync of all', async () => (await initialized()).length === ACCOUNTS)
  expect((await initialized()).toSorted()).toEqual(ids.toSorted())
  expect(proxy.stats.connectionsMax).toBe(CONNECTIONS)

  proxy.byeAll()
  const { cursor } = await readFeed(api)
  for (const [index, user] of users.entries()) {
    await using world = await openWorld(server, user)
    await world.deliver(shortMessage(`to account ${index}`))
  }
  const told = await waitUntil('the new mail of all', async () => {
    const events = messageEvents((await readFeed(api, cursor)).events)
    return events.length >= ACCOUNTS && events
  })
  expect(told.toSorted()).toEqual(
    users.map((_, index) => `message.created message to account ${index}`).toSorted(),
  )
  expect(proxy.stats.connectionsMax).toBe(CONNECTIONS)
  expect(app.logLines.filter(line => line.includes('"level":"error"'))).toEqual([])
})

test.concurrent('login checks count towards the connections, and idle accounts make room for them', async () => {
  await using server = await startDovecot()
  await using proxy = await startChaosProxy(server)
  await using app = await openSyncApp({ config: { connectionsPerHost: 1 } })
  const users = await Promise.all(Array.from({ length: 5 }, () => server.addUser()))
  const ids = await Promise.all(users.map(user => connectMailbox(app, proxy, user)))
  await Promise.all(ids.map(id => waitForFirstSync(app, id)))
  // A connection that was just closed still counts while the next one opens.
  expect(proxy.stats.connectionsMax).toBeLessThanOrEqual(2)
})
