import { describe, expect, test } from 'vitest'
import { readFeed, readMessages } from './followed-account.ts'
import {
  messageEvents,
  openProxiedAccount,
  shortMessages,
  waitForAnotherPass,
  waitForMessageEvents,
} from './proxied-account.ts'
import type { Faults } from '../servers/chaos-faults.ts'

const MESSAGES = 300

/** The server reports an empty INBOX, like one whose storage is not mounted. */
const EMPTY: Faults = {
  rewrite(line) {
    if (/^\* \d+ (EXISTS|RECENT)$/.test(line)) return line.replace(/\d+/, '0')
    if (/^\* (E?SEARCH|VANISHED)/.test(line)) return null
    return line.replace(/(STATUS "?INBOX"? \(MESSAGES) \d+/, '$1 0')
  },
}

describe('a server that reports an empty mailbox', () => {
  test('causes no deletions if the messages are back a few passes later', async () => {
    await using account = await openProxiedAccount({
      // Frequent passes, so that a few of them take much less time than the server is given.
      pace: { pollSeconds: 0.2, passFactorMax: 1 },
      arrange: world => world.deliver(shortMessages(1, MESSAGES)),
    })
    const { app, proxy, world, accountId, cursor } = account
    const before = (await readMessages(app, accountId)).map(({ id }) => id).toSorted()
    proxy.faults = EMPTY
    for (let passes = 0; passes < 2; passes++) await waitForAnotherPass(proxy)
    proxy.faults = {}
    await world.deliver(shortMessages(1_000, 1))
    await waitForMessageEvents(app, cursor, 1)
    await waitForAnotherPass(proxy)
    expect(messageEvents((await readFeed(app, cursor)).events)).toEqual(['message.created message 1000'])
    const after = new Set((await readMessages(app, accountId)).map(({ id }) => id))
    expect(before.filter(id => !after.has(id))).toEqual([])
  })
})
