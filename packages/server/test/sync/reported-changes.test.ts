import { expect, test } from 'vitest'
import { waitUntil } from '../wait-until.ts'
import { readFeed } from './followed-account.ts'
import {
  openProxiedAccount,
  readRuntime,
  shortMessage,
  shortMessages,
  waitForMessageEvents,
  waitForRuntime,
} from './proxied-account.ts'
import { SOAK } from '../soak.ts'

/** No pass is due during a test: what is in the feed was reported by the server. */
const RARE = { pollSeconds: 100_000 }

test.concurrent('changes in any mailbox are in the feed without a pass being due', async () => {
  await using account = await openProxiedAccount({
    pace: RARE,
    arrange: world => world.deliver(shortMessages(1, 3), 'Archive'),
  })
  const { app, world, accountId, cursor, proxy } = account
  await waitForRuntime(
    app,
    accountId,
    'live',
    /^all mailboxes are watched; every mailbox is looked at within 100000 s/,
  )
  /** Dovecot drops reports of the mailbox that is open, so the next change waits until the inbox is watched again. */
  const isWatching = () => proxy.stats.lines.at(-1) === 'IDLE'
  const watched = () => waitUntil('the inbox to be watched', async () => isWatching())
  await watched()
  const connections = proxy.stats.connectedAt.length
  const told = async (count: number) => {
    const events = await waitForMessageEvents(app, cursor, count)
    await watched()
    return events.at(-1)
  }

  await world.deliver(shortMessage('sent'), 'Sent')
  expect(await told(1)).toBe('message.created message sent')
  const [first = 0, second = 0, third = 0] = await world.uids('Archive')
  await world.flag('Archive', [first], '\\Seen')
  expect(await told(2)).toBe('message.updated message 1')
  const passes = () => proxy.stats.commands.get('LIST') ?? 0
  const before = passes()
  await world.flag('Archive', [second], '\\Deleted')
  await waitUntil('a pass over the mark', async () => passes() > before && isWatching())
  await world.expunge('Archive', [second])
  expect(await told(3)).toBe('message.deleted message 2')
  await world.move('Archive', [third], 'Trash')
  expect(await told(4)).toBe('message.updated message 3')

  const mailboxEvents = async () =>
    (await readFeed(app, cursor)).events.flatMap(({ type, data }) =>
      data.mailbox ? [`${type} ${data.mailbox.path}`] : [],
    )
  const toldOf = async (event: string) => {
    await waitUntil(event, async () => (await mailboxEvents()).includes(event))
    await watched()
  }
  await world.createMailbox('Projects')
  await toldOf('mailbox.created Projects')
  // A mailbox that was always empty could be another one under the new name.
  await world.deliver(shortMessage('project'), 'Projects')
  expect(await told(5)).toBe('message.created message project')
  await world.renameMailbox('Projects', 'Plans')
  await toldOf('mailbox.updated Plans')
  await world.deleteMailbox('Plans')
  await toldOf('mailbox.deleted Plans')
  // All over the connection that waits.
  expect(proxy.stats.connectedAt).toHaveLength(connections)
})

test.concurrent(
  'a server that announces reports and sends none is polled, over another connection',
  SOAK,
  async () => {
    let isListing = false
    await using account = await openProxiedAccount({
      pace: { pollSeconds: 1, renewal: { everySeconds: 1e6, soonestSeconds: 0 } },
      faults: {
        judge(moment, command) {
          if (command.startsWith('LIST')) isListing = moment === 'asked'
          return 'pass'
        },
        rewrite: line => (!isListing && line.startsWith('* STATUS ') ? null : line),
      },
    })
    const { app, world, accountId, cursor } = account
    // The time between passes grows as long as nothing happens.
    await waitForRuntime(app, accountId, 'live', /^all mailboxes are watched; .* within (?:4|16|20) s/)

    const connections = account.proxy.stats.connectedAt.length
    await world.deliver(shortMessage('late'), 'Archive')
    expect(await waitForMessageEvents(app, cursor, 1)).toEqual(['message.created message late'])
    await waitForRuntime(
      app,
      accountId,
      'live',
      /^the inbox is watched; every mailbox is looked at within 1 s/,
    )
    const { connectedAt } = account.proxy.stats
    await waitUntil('another connection', async () => connectedAt.length > connections)
    await world.deliver(shortMessage('soon'), 'Archive')
    await waitForMessageEvents(app, cursor, 2)
    expect((await readRuntime(app, accountId))?.detail).toMatch(/ within 1 s$/) // It was the connection that lost its trust, once.
    expect(connectedAt).toHaveLength(connections + 1)
  },
)
