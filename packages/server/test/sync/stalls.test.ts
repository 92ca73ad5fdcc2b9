import { describe, expect, test } from 'vitest'
import type { ChaosProxy } from '../servers/chaos-proxy.ts'
import { readFeed, waitForFirstSync, readMessages, connectMailbox, openSyncApp } from './followed-account.ts'
import {
  askForSync,
  messageEvents,
  openProxiedAccount,
  shortMessages,
  waitForAnotherPass,
  waitForMessageEvents,
  waitForRuntime,
} from './proxied-account.ts'
import { startChaosProxy } from '../servers/chaos-proxy.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { casesFor } from '../soak.ts'

const server = useServer(() => startDovecot())
const pace = { pollSeconds: 1, stallSeconds: 2 }

/** Makes the server silent for everyone, from the moment when it would send such a line. @returns that moment */
function fallSilentAt(proxy: ChaosProxy, pattern: RegExp): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  proxy.faults = {
    rewrite(line) {
      if (!pattern.test(line)) return line
      proxy.faults = { isSilent: true }
      resolve()
      return line
    },
  }
  return promise
}

describe('a server that falls silent', () => {
  const moments = [
    ['while it lists mailboxes', /^\* LIST/],
    ['while it opens a mailbox', /^\* \d+ EXISTS/],
    ['while it searches', /^\* E?SEARCH/],
    ['in the middle of a message', /^\* \d+ FETCH .*\{\d+\}$/],
    ['before it greets', /^\* CAPABILITY|^\S+ OK \[CAPABILITY/],
  ] as const
  test.concurrent.each(casesFor(moments, (_, at) => at >= 3))(
    '%s is disconnected at the deadline, reported, and retried until it recovers',
    async (_, pattern) => {
      await using account = await openProxiedAccount({
        server: server(),
        pace,
        arrange: world => world.deliver(shortMessages(1, 3)),
      })
      const { app, proxy, world, accountId, cursor } = account
      const silent = fallSilentAt(proxy, pattern)
      if (pattern.source.includes('CAPABILITY')) proxy.cutAll()
      await world.deliver(shortMessages(4, 3))
      await silent
      await waitForRuntime(app, accountId, 'backoff', /no progress for 2 seconds; next try at/)

      proxy.faults = {}
      await askForSync(app, accountId)
      const told = await waitForMessageEvents(app, cursor, 3)
      await waitForAnotherPass(proxy)
      expect(messageEvents((await readFeed(app, cursor)).events)).toEqual(told)
      expect(told).toEqual([4, 5, 6].map(number => `message.created message ${number}`))
      await waitForRuntime(app, accountId, 'live')
    },
  )

  test.concurrent('in the first sync is disconnected at the deadline, and the first sync finishes later', async () => {
    await using proxy = await startChaosProxy(server())
    const user = await server().addUser()
    await using world = await openWorld(server(), user)
    await world.deliver(shortMessages(1, 20))
    await using app = await openSyncApp({ pace })
    const silent = fallSilentAt(proxy, /^\* \d+ FETCH/)
    const accountId = await connectMailbox(app, proxy, user)
    await silent
    await waitForRuntime(app, accountId, 'backoff', /no progress for 2 seconds/)
    proxy.faults = {}
    await waitForFirstSync(app, accountId)
    expect(await readMessages(app, accountId)).toHaveLength(20)
  })
})
