import { expect, test } from 'vitest'
import { readFeed } from './followed-account.ts'
import {
  messageEvents,
  openProxiedAccount,
  shortMessages,
  waitForMessageEvents,
  waitForRuntime,
} from './proxied-account.ts'
import { waitUntil } from '../wait-until.ts'

/** Only the keep-alive can notice it: no pass is due, and nothing stalls, during the test. */
const pace = { pollSeconds: 600, stallSeconds: 600, keepAliveSeconds: 1, answerSeconds: 1 }

test('a connection that dies while it waits for mail is detected, and new mail is announced once', async () => {
  await using account = await openProxiedAccount({
    pace,
    faults: { isSilentAfterIdle: true },
    arrange: world => world.deliver(shortMessages(1, 2)),
  })
  const { app, proxy, world, accountId, cursor } = account
  await waitForRuntime(app, accountId, 'live', /^all mailboxes are watched/)
  await waitUntil('IDLE', () => Promise.resolve(proxy.stats.commands.has('IDLE')))
  proxy.faults = {}
  await world.deliver(shortMessages(3, 3))
  expect(proxy.stats.connections).toBe(1)

  await waitForRuntime(app, accountId, 'backoff', /^The server stopped answering/)
  const told = await waitForMessageEvents(app, cursor, 3)
  await waitForRuntime(app, accountId, 'live')
  expect(messageEvents((await readFeed(app, cursor)).events)).toEqual(told)
  expect(told).toEqual([3, 4, 5].map(number => `message.created message ${number}`))
  expect(proxy.stats.connections).toBe(1)

  await world.deliver(shortMessages(6, 1))
  expect(await waitForMessageEvents(app, cursor, 4)).toEqual([...told, 'message.created message 6'])
})
