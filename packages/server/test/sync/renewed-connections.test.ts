import { describe, expect, test } from 'vitest'
import { waitUntil } from '../wait-until.ts'
import { readMailboxes, readMessages } from './followed-account.ts'
import {
  askForSync,
  openProxiedAccount,
  type ProxiedAccount,
  type ProxiedAccountOptions,
  shortMessage,
  waitForAnotherPass,
  waitForRuntime,
} from './proxied-account.ts'

/** No connection of a test is so old that it is renewed for that, unless the test asks for it. */
const NEVER_OLD = { everySeconds: 1e6, soonestSeconds: 0 }

interface StaleAccount extends ProxiedAccount {
  /** From now on, the new mailbox is hidden from open sessions. */
  goStale(): void
  hasMailbox(): Promise<boolean>
}

/** A mailbox of a server whose sessions may keep a list of mailboxes that is out of date, as Dovecot 2.3.19 does. */
async function openStaleAccount(options: ProxiedAccountOptions): Promise<StaleAccount> {
  let isStale = false
  const account = await openProxiedAccount({
    ...options,
    faults: {
      judge(moment, command) {
        if (moment === 'asked' && /^(?:LOGIN|AUTHENTICATE)\b/i.test(command)) isStale = false
        return 'pass'
      },
      rewrite: line => (isStale && /^\* (?:LIST|STATUS) .*Projects/.test(line) ? null : line),
    },
  })
  const { app, accountId, proxy } = account
  await waitForRuntime(app, accountId, 'live')
  await waitUntil('one connection to be open', async () => proxy.stats.connections === 1)
  proxy.stats.connectionsMax = 1
  return {
    ...account,
    goStale: () => {
      isStale = true
    },
    hasMailbox: async () => (await readMailboxes(app, accountId)).some(({ path }) => path === 'Projects'),
  }
}

/** Creates a mailbox with a message, which is hidden from the watched session. */
async function createUnheard({ world, proxy, goStale, hasMailbox }: StaleAccount): Promise<void> {
  goStale()
  await world.createMailbox('Projects')
  await world.deliver(shortMessage('unheard'), 'Projects')
  await waitForAnotherPass(proxy)
  expect(await hasMailbox()).toBe(false)
}

const waitForUnheard = ({ app, accountId, hasMailbox }: StaleAccount) =>
  waitUntil('the mailbox and its message', async () => {
    const subjects = (await readMessages(app, accountId)).map(({ subject }) => subject)
    return (await hasMailbox()) && subjects.includes('message unheard')
  })

describe.concurrent('a session in which new mailboxes are not announced', () => {
  test('gives way to another session when a caller asks for a sync, ends after that has begun, and is kept if none can be opened', async () => {
    await using account = await openStaleAccount({ pace: { pollSeconds: 0.5, renewal: NEVER_OLD } })
    const { app, accountId, proxy, world } = account
    await createUnheard(account)
    expect(proxy.stats.connectionsMax).toBe(1)

    await askForSync(app, accountId)

    await waitForUnheard(account)
    expect(proxy.stats.connectionsMax).toBe(2)
    await waitUntil('the former one to end', async () => proxy.stats.connections === 1)

    proxy.faults = {
      refusedCommands: [/^(?:LOGIN|AUTHENTICATE)\b/],
      refusal: 'NO [UNAVAILABLE] Internal error',
    }
    const attempts = proxy.stats.connectedAt.length
    await askForSync(app, accountId)
    await waitUntil('an attempt to renew it', async () => proxy.stats.connectedAt.length > attempts)
    await world.deliver(shortMessage('later'))
    await waitUntil('new mail', async () => (await readMessages(app, accountId)).length === 2)
    await waitForRuntime(app, accountId, 'live')
    expect(app.logLines.join('\n')).toContain('A connection could not be renewed, and is kept')
  })

  test('ends before that if the server is given one connection', async () => {
    await using account = await openStaleAccount({
      pace: { pollSeconds: 0.5, renewal: NEVER_OLD },
      config: { connectionsPerHost: 1 },
    })
    const { app, accountId, proxy } = account
    await createUnheard(account)
    await askForSync(app, accountId)
    await waitForUnheard(account)
    expect(proxy.stats.connectionsMax).toBe(1)
  })

  test('gives way to another one when it is old', async () => {
    await using account = await openStaleAccount({
      pace: { pollSeconds: 1e5, renewal: { everySeconds: 1, soonestSeconds: 0 } },
    })
    account.goStale()
    await account.world.createMailbox('Projects')
    await account.world.deliver(shortMessage('unheard'), 'Projects')
    await waitForUnheard(account)
    expect(account.proxy.stats.connectionsMax).toBe(2)
  })
})
