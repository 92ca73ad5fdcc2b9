import { expect, test } from 'vitest'
import { readFeed } from './followed-account.ts'
import {
  messageEvents,
  openProxiedAccount,
  retryUntil,
  shortMessage,
  shortMessages,
  waitForRuntime,
} from './proxied-account.ts'

const DAY_MS = 86_400_000
const MESSAGES = 500
/** All of it is more than what passes until the fifth connection breaks. */
const TEXT_BYTES = 700

test('mail of a ten-day outage is announced once and in order, even if connections keep breaking', async () => {
  await using account = await openProxiedAccount({ arrange: world => world.deliver(shortMessages(1, 20)) })
  const { app, proxy, world, accountId, cursor } = account
  proxy.faults = { byeAtGreeting: 'Down for maintenance' }
  proxy.byeAll()
  await waitForRuntime(app, accountId, 'backoff', /maintenance/)

  const reachableAgain = Date.now()
  const mail = Array.from({ length: MESSAGES }, (_, index) => {
    const at = new Date(reachableAgain - 10 * DAY_MS * (1 - index / MESSAGES))
    const { raw, internalDate } = shortMessage(`late ${index}`, at)
    return { raw: `${raw}${'x'.repeat(TEXT_BYTES)}\r\n`, internalDate }
  })
  await world.deliver(mail)
  // The backlog arrives in pieces: each connection breaks somewhere in it, five times.
  proxy.faults = { cutAfterBytes: { from: 3_000, to: 60_000 }, cutsMax: 5 }
  const told = await retryUntil(app, accountId, 'the whole backlog', async () => {
    const events = messageEvents((await readFeed(app, cursor)).events)
    return events.length >= MESSAGES ? events : null
  })
  expect(proxy.stats.cuts).toBe(5)
  expect(told).toEqual(mail.map((_, index) => `message.created message late ${index}`))
})
