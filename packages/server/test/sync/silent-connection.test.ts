import { expect, test } from 'vitest'
import type { ChaosProxy } from '../servers/chaos-proxy.ts'
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

/** Lets the connection that waits in IDLE next fall silent, and none after it. @returns that moment */
function fallSilentInIdle(proxy: ChaosProxy): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let idles = 0
  proxy.faults = {
    judge(moment, command) {
      if (moment === 'asked' && command === 'IDLE' && ++idles === 1) resolve()
      return 'pass'
    },
    get isSilentAfterIdle() {
      return idles === 1
    },
  }
  return promise
}

test('a connection that dies while it waits for mail is detected, and new mail is announced once', async () => {
  await using account = await openProxiedAccount({
    pace,
    arrange: world => world.deliver(shortMessages(1, 2)),
  })
  const { app, proxy, world, accountId, cursor } = account
  await waitForRuntime(app, accountId, 'live', /^all mailboxes are watched/)
  await fallSilentInIdle(proxy)
  expect(proxy.stats.connections).toBe(1)

  // The next connection brings the mail, however soon after that.
  const detected = waitForRuntime(app, accountId, 'backoff', /^The server stopped answering/)
  await Promise.all([detected, world.deliver(shortMessages(3, 3))])
  const told = await waitForMessageEvents(app, cursor, 3)
  await waitForRuntime(app, accountId, 'live')
  expect(messageEvents((await readFeed(app, cursor)).events)).toEqual(told)
  expect(told).toEqual([3, 4, 5].map(number => `message.created message ${number}`))
  await waitUntil('one connection', () => Promise.resolve(proxy.stats.connections === 1))

  await world.deliver(shortMessages(6, 1))
  expect(await waitForMessageEvents(app, cursor, 4)).toEqual([...told, 'message.created message 6'])
})
