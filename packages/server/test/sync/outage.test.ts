import { expect, test } from 'vitest'
import { readFeed } from './followed-account.ts'
import {
  askForSync,
  messageEvents,
  openProxiedAccount,
  readRuntime,
  shortMessage,
  shortMessages,
  waitForRuntime,
} from './proxied-account.ts'
import { waitUntil } from '../wait-until.ts'

const DAY_MS = 86_400_000
const MESSAGES = 500

test('mail of a ten days outage is announced once each and in order, however often the server comes and goes meanwhile', async () => {
  await using account = await openProxiedAccount({ arrange: world => world.deliver(shortMessages(1, 20)) })
  const { app, proxy, world, accountId, cursor } = account
  proxy.faults = { byeAtGreeting: 'Down for maintenance' }
  proxy.byeAll()
  await waitForRuntime(app, accountId, 'backoff', /maintenance/)

  const reachableAgain = Date.now()
  const mail = Array.from({ length: MESSAGES }, (_, index) =>
    shortMessage(`late ${index}`, new Date(reachableAgain - 10 * DAY_MS * (1 - index / MESSAGES))),
  )
  await world.deliver(mail)
  // It comes back in pieces: each connection breaks somewhere in the backlog, five times.
  proxy.faults = { cutAfterBytes: { from: 3_000, to: 60_000 }, cutsMax: 5 }
  const told = await waitUntil('the whole backlog', async () => {
    const runtime = await readRuntime(app, accountId)
    if (runtime?.state === 'backoff') await askForSync(app, accountId)
    const events = messageEvents((await readFeed(app, cursor)).events)
    return events.length >= MESSAGES ? events : null
  })
  expect(proxy.stats.cuts).toBe(5)
  expect(told).toEqual(mail.map((_, index) => `message.created message late ${index}`))
})
