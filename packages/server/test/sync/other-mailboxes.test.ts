import { describe, expect, test } from 'vitest'
import { startDovecot } from '../servers/dovecot.ts'
import { readMailboxes } from './followed-account.ts'
import {
  openProxiedAccount,
  shortMessage,
  shortMessages,
  waitForMessageEvents,
  waitForRuntime,
} from './proxied-account.ts'

describe('mailboxes beside the inbox', () => {
  test.concurrent.each([
    ['a server with IDLE', { faults: { hiddenCapabilities: ['NOTIFY'] } }, 'the inbox is watched'],
    ['a server without IDLE', { faults: { hiddenCapabilities: ['IDLE'] } }, 'the inbox is polled'],
    ['a server of 1996', { start: () => startDovecot({ flavour: 'poor' }) }, 'the inbox is polled'],
  ])('of %s are all checked within the interval that the account shows', async (_, options, inbox) => {
    await using account = await openProxiedAccount({
      ...options,
      async arrange(world) {
        const there = new Set(
          (await world.witness.command('LIST "" "*"')).untagged.map(values => String(values[3])),
        )
        for (const name of ['Sent', 'Archive', 'Projects']) {
          if (!there.has(name)) await world.createMailbox(world.at(name))
        }
        await world.deliver(shortMessages(1, 3), world.at('Projects'))
      },
    })
    const { app, world, accountId, cursor } = account
    await waitForRuntime(
      app,
      accountId,
      'live',
      new RegExp(`^${inbox}; every mailbox is looked at within 1 s$`),
    )

    await world.deliver(shortMessage('sent'), world.at('Sent'))
    expect(await waitForMessageEvents(app, cursor, 1)).toEqual(['message.created message sent'])
    await world.deliver(shortMessage('kept'), world.at('Archive'))
    expect((await waitForMessageEvents(app, cursor, 2)).at(-1)).toBe('message.created message kept')
    const projects = world.at('Projects')
    const [first = 0, second = 0, third = 0] = await world.uids(projects)
    await world.flag(projects, [first], '\\Seen')
    expect((await waitForMessageEvents(app, cursor, 3)).at(-1)).toBe('message.updated message 1')
    await world.expunge(projects, [second])
    expect((await waitForMessageEvents(app, cursor, 4)).at(-1)).toBe('message.deleted message 2')
    await world.flag(projects, [third], '\\Seen')
    expect((await waitForMessageEvents(app, cursor, 5)).at(-1)).toBe('message.updated message 3')
    const roles = (await readMailboxes(app, accountId)).map(({ name, role }) => `${name} ${role}`)
    expect(roles).toEqual(expect.arrayContaining(['Archive archive', 'Sent sent']))
  })
})
