import { describe, expect, test } from 'vitest'
import { seeded } from '../seeded.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import type { Delivery } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import { readFeed, readMessages } from './followed-account.ts'
import {
  messageEvents,
  openProxiedAccount,
  shortMessage,
  shortMessages,
  waitForAnotherPass,
} from './proxied-account.ts'
import { casesFor, numberFor } from '../soak.ts'

const MAILBOX = 'Work'
const PACE = { pollSeconds: 0.2, passFactorMax: 1 }

const SERVERS = casesFor(SERVER_KINDS, ({ name }) => name === 'Dovecot')
/** Messages of the best server, more than are asked for at once, and of the others. */
const [MANY, FEW] = [numberFor({ ci: 500, soak: 5_000 }), numberFor({ ci: 200, soak: 500 })]

describe.concurrent.each(SERVERS)('a mailbox on $name', ({ name, start }) => {
  const server = useServer(start)
  const count = name === 'Dovecot' ? MANY : FEW

  test(`of ${count} messages that is renumbered while mail comes and goes keeps the ids of all other messages`, async () => {
    const random = seeded('renumbering')
    await using account = await openProxiedAccount({
      server: server(),
      pace: PACE,
      async arrange(world) {
        await world.createMailbox(world.at(MAILBOX))
        await world.deliver(shortMessages(0, count), world.at(MAILBOX))
      },
    })
    const { app, world, proxy, accountId, cursor } = account
    const before = new Map((await readMessages(app, accountId)).map(({ id, subject }) => [subject, id]))

    const mailbox = world.at(MAILBOX)
    const doomed = new Set<number>()
    while (doomed.size < 10) doomed.add(random.between(0, count - 1))
    const uids = await world.uids(mailbox)
    const [early, late] = [[...doomed].slice(0, 5), [...doomed].slice(5)]
    const uidOf = (number: number) => uids[number] ?? 0
    await world.expunge(mailbox, early.map(uidOf))
    await world.deliver(shortMessages(count, 5), mailbox)
    await world.renumber(mailbox)
    await world.deliver(shortMessages(count + 5, 5), mailbox)
    // Renumbering keeps the order of messages, but not their numbers.
    const left = uids.filter(uid => !early.map(uidOf).includes(uid))
    const now = await world.uids(mailbox)
    await world.expunge(
      mailbox,
      late.map(number => now[left.indexOf(uidOf(number))] ?? 0),
    )

    const expected = [
      ...Array.from({ length: 10 }, (_message, index) => `message.created message ${count + index}`),
      ...[...doomed].map(number => `message.deleted message ${number}`),
    ]
    const read = async () => bornOrGone(messageEvents((await readFeed(app, cursor)).events))
    await waitUntil('what came and went', async () => (await read()).length >= expected.length)
    await waitForAnotherPass(proxy)
    expect((await read()).toSorted()).toEqual(expected.toSorted())
    const after = new Map((await readMessages(app, accountId)).map(({ id, subject }) => [subject, id]))
    expect(after.size).toBe(count)
    const changed = [...after].filter(([subject, id]) => before.has(subject) && before.get(subject) !== id)
    expect(changed).toEqual([])
  })

  test('keeps two messages without a Message-ID and without any difference as two', async () => {
    const twin: Delivery = {
      raw: 'From: Ada <ada@a.test>\r\nTo: you@b.test\r\nDate: Thu, 01 Jan 2026 00:00:00 +0000\r\nSubject: twin\r\n\r\nHello\r\n',
      internalDate: new Date(Date.UTC(2026, 0, 1)),
    }
    await using account = await openProxiedAccount({
      server: server(),
      pace: PACE,
      async arrange(world) {
        await world.createMailbox(world.at(MAILBOX))
        await world.deliver([twin, twin, shortMessage(1)], world.at(MAILBOX))
      },
    })
    const { app, world, proxy, accountId, cursor } = account
    const twinIds = async () =>
      (await readMessages(app, accountId))
        .filter(({ subject }) => subject === 'twin')
        .map(({ id }) => id)
        .toSorted()
    const both = await twinIds()
    expect(new Set(both).size).toBe(2)

    const mailbox = world.at(MAILBOX)
    const read = async () => bornOrGone(messageEvents((await readFeed(app, cursor)).events))
    await world.renumber(mailbox)
    await world.deliver(shortMessage(2), mailbox)
    await waitUntil('the new message', async () => (await read()).length > 0)
    await waitForAnotherPass(proxy)
    expect(await twinIds()).toEqual(both)

    const [first = 0] = await world.uids(mailbox)
    await world.move(mailbox, [first], 'INBOX')
    await waitForAnotherPass(proxy)
    expect(await twinIds()).toEqual(both)

    await world.deliver(twin, mailbox)
    await waitUntil('the third twin', async () => (await read()).length > 1)
    await world.expunge(mailbox, (await world.uids(mailbox)).slice(0, 1))
    await waitUntil('its end', async () => (await read()).length > 2)
    expect(await read()).toEqual([
      'message.created message 2',
      'message.created twin',
      'message.deleted twin',
    ])
    expect((await twinIds()).length).toBe(2)
  })
})

/** Leaves out updates: a mailbox that Cyrus renumbers is a new one, so its messages are also announced as moved. */
function bornOrGone(events: readonly string[]): string[] {
  return events.filter(event => !event.startsWith('message.updated'))
}
