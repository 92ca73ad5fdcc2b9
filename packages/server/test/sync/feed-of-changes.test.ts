import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { TestApp } from '../open-app.ts'
import { startChaosProxy } from '../servers/chaos-proxy.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld, type World } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import { countUnannounced } from './fold-feed.ts'
import {
  connectMailbox,
  type FeedEvent,
  openSyncApp,
  readFeed,
  readMailboxes,
  readMessages,
  waitForFirstSync,
} from './followed-account.ts'
import { casesFor } from '../soak.ts'

/** Servers without mod-sequences are asked for flags once a minute. */
const CLOCK_SPEED = 60

function letter(name: string, ...fields: string[]) {
  const head = [
    'From: Ada <ada@a.test>',
    'To: you@b.test',
    `Subject: ${name}`,
    `Message-ID: <${name}@a.test>`,
  ]
  return { raw: `${[...head, ...fields].join('\r\n')}\r\n\r\nText of ${name}\r\n` }
}

/** Describes an event by the subjects, paths and changes in it. */
function describeEvent({ type, data }: FeedEvent): string {
  const { message, mailboxes = [], mailbox, changes } = data
  const about = message
    ? `${message.subject} in ${mailboxes.map(({ path }) => path).join(', ')}`
    : `${mailbox?.path}`
  return [type, about, ...(changes ? [`[${changes.join(', ')}]`] : [])].join(' ')
}

/** A mailbox as it appears in events about a message. */
function refer({ id, name, path, role, kind }: Mailbox) {
  return { id, name, path, role, kind }
}

interface Case {
  act: string
  does(world: World): Promise<unknown>
  /** `Work` and `Other` are named as the server names them. */
  announces: string[]
  /** Cyrus has its own threads, and cannot renumber a mailbox: what looks like it creates another mailbox. */
  isImpossibleOn?: 'Cyrus'
}

const CASES: Case[] = [
  {
    act: 'delivers a message',
    does: world => world.deliver({ ...letter('fresh'), flags: ['\\Flagged', 'urgent'] }),
    announces: ['message.created fresh in INBOX'],
  },
  {
    act: 'delivers a message to another mailbox',
    does: world => world.deliver(letter('fresh'), world.at('Work')),
    announces: ['message.created fresh in Work'],
  },
  {
    act: 'reads a message',
    does: world => world.flag('INBOX', [1], '\\Seen'),
    announces: ['message.updated first in INBOX [isRead]'],
  },
  {
    act: 'flags two messages of another mailbox',
    does: world => world.flag(world.at('Work'), [1, 2], '\\Flagged'),
    announces: ['message.updated third in Work [isFlagged]', 'message.updated fourth in Work [isFlagged]'],
  },
  {
    act: 'changes a flag and a keyword at once',
    does: world => world.flag('INBOX', [2], '\\Seen', 'urgent'),
    announces: ['message.updated second in INBOX [isRead, categories]'],
  },
  {
    act: 'removes a keyword',
    does: world => world.unflag(world.at('Work'), [2], 'kept'),
    announces: ['message.updated fourth in Work [categories]'],
  },
  {
    act: 'sets a flag that the index does not show',
    does: world => world.flag('INBOX', [1], '\\Answered', '$Forwarded'),
    announces: [],
  },
  {
    act: 'moves a message',
    does: world => world.move('INBOX', [1], world.at('Work')),
    announces: ['message.updated first in Work [mailboxIds]'],
  },
  {
    act: 'reads a message and moves it',
    async does(world) {
      await world.flag(world.at('Work'), [1], '\\Seen')
      await world.move(world.at('Work'), [1], world.at('Other'))
    },
    announces: ['message.updated third in Other [mailboxIds, isRead]'],
  },
  {
    act: 'copies a message',
    does: world => world.copy('INBOX', [1], world.at('Work')),
    announces: ['message.created first in Work'],
  },
  {
    act: 'expunges a message',
    does: world => world.expunge('INBOX', [2]),
    announces: ['message.deleted second in INBOX'],
  },
  {
    act: 'creates a mailbox',
    does: world => world.createMailbox(world.at('Fresh')),
    announces: ['mailbox.created Fresh'],
  },
  {
    act: 'renames a mailbox',
    does: world => world.renameMailbox(world.at('Work'), world.at('Done')),
    announces: ['mailbox.updated Done [name, path]'],
  },
  {
    act: 'deletes a mailbox with its messages',
    does: world => world.deleteMailbox(world.at('Work')),
    announces: ['message.deleted third in Work', 'message.deleted fourth in Work', 'mailbox.deleted Work'],
  },
  {
    act: 'renumbers a mailbox',
    does: world => world.renumber(world.at('Work')),
    announces: [],
    isImpossibleOn: 'Cyrus',
  },
  {
    act: 'delivers the parent of two threads late',
    does: world => world.deliver(letter('parent', 'References: <root@a.test>')),
    announces: ['message.updated third in Work [threadId]', 'message.created parent in INBOX'],
    isImpossibleOn: 'Cyrus',
  },
]

const SERVERS = casesFor(SERVER_KINDS, ({ name }) => name === 'a poor Dovecot')

/** Each test has an account of its own, and waits for most of its time, so some run at once. */
vi.setConfig({ maxConcurrency: 3 })
describe.concurrent.each(SERVERS)('when another client on $name', ({ name, start }) => {
  const useIt = useServer(start)
  let app: TestApp
  beforeAll(async () => {
    app = await openSyncApp({ pace: { pollSeconds: 0.2, now: () => Date.now() * CLOCK_SPEED } })
  })
  afterAll(() => app[Symbol.asyncDispose]())

  /** Connects a mailbox until the end of a test: accounts that nothing needs any more would keep the service busy. */
  async function connect(
    opened: AsyncDisposableStack,
    server: Pick<MailServer, 'host' | 'port'>,
    user: TestUser,
  ) {
    const accountId = await connectMailbox(app, server, user)
    opened.defer(async () => void (await app.delete(`/v1/accounts/${accountId}`)))
    return accountId
  }

  /** Opens a followed account: two messages in the inbox, two in Work. */
  async function openFollowed() {
    const server = useIt()
    const user = await server.addUser()
    await using opened = new AsyncDisposableStack()
    const world = opened.use(await openWorld(server, user))
    for (const path of ['Work', 'Other', 'Marks']) await world.createMailbox(world.at(path))
    await world.deliver([letter('first'), letter('second')])
    await world.deliver(
      [
        letter('third', 'References: <root@a.test>'),
        { ...letter('fourth', 'In-Reply-To: <parent@a.test>'), flags: ['kept'] },
      ],
      world.at('Work'),
    )
    const accountId = await connect(opened, server, user)
    await waitForFirstSync(app, accountId)
    const { cursor } = await readFeed(app)
    const announced = async () =>
      (await readFeed(app, cursor)).events.filter(event => event.accountId === accountId)
    const owned = opened.move()
    return { world, accountId, announced, [Symbol.asyncDispose]: () => owned.disposeAsync() }
  }
  type Followed = Awaited<ReturnType<typeof openFollowed>>

  /** Returns what was announced after all mailboxes were looked at twice more. */
  async function settle({ world, accountId, announced }: Followed, count: number): Promise<FeedEvent[]> {
    await waitUntil('the events', async () => (await announced()).length >= count)
    for (const mark of ['mark 1', 'mark 2']) {
      // Only a look at all mailboxes finds this message.
      await world.deliver(letter(mark), world.at('Marks'))
      await app.post(`/v1/accounts/${accountId}/sync`)
      await waitUntil(mark, async () =>
        (await announced()).some(({ data }) => data.message?.subject === mark),
      )
    }
    return (await announced()).filter(({ data }) => !data.message?.subject?.startsWith('mark'))
  }

  const cases = CASES.filter(({ isImpossibleOn }) => isImpossibleOn !== name)
  test.each(cases)('$act, the feed reports exactly that', async ({ does, announces }) => {
    await using followed = await openFollowed()
    const { world, accountId } = followed
    const before = await readMessages(app, accountId)

    await does(world)

    const events = await settle(followed, announces.length)
    const fit = (text: string) =>
      text.replace(/(?<=(?: in |mailbox\.\w+ ))(Work|Other|Fresh|Done)/, path => world.at(path))
    expect(events.map(describeEvent).toSorted()).toEqual(announces.map(fit).toSorted())
    const after = await readMessages(app, accountId)
    const mailboxes = await readMailboxes(app, accountId)
    for (const { type, data } of events) {
      if (!data.message) continue
      const { id, mailboxIds } = data.message
      expect(before.some(message => message.id === id)).toBe(type !== 'message.created')
      const read = type === 'message.deleted' ? before : after
      expect(data.message).toEqual(read.find(message => message.id === id))
      if (type === 'message.deleted') continue
      expect(data.mailboxes).toEqual(mailboxes.filter(mailbox => mailboxIds.includes(mailbox.id)).map(refer))
    }
  })

  test('makes changes during the first sync, they are not announced before it is complete', async () => {
    const server = useIt()
    const user = await server.addUser()
    await using world = await openWorld(server, user)
    await world.deliver(Array.from({ length: 300 }, (_, number) => letter(`early ${number}`)))
    await using opened = new AsyncDisposableStack()
    const proxy = opened.use(await startChaosProxy(server))
    const accountId = await connect(opened, proxy, user)
    let [begun, acted] = [0, 0]
    let acting = Promise.resolve()
    const act = async (nth: number) => {
      await world.deliver(letter(`late ${nth}`))
      await world.flag('INBOX', [290 - nth], '\\Seen')
      await world.expunge('INBOX', [280 - nth])
      acted++
    }
    // One after the other: the check of the login may still log out while the first sync begins.
    proxy.faults = {
      hold() {
        if (begun === 10) return undefined
        const nth = ++begun
        acting = acting.then(() => act(nth))
        return acting
      },
    }
    await waitForFirstSync(app, accountId)

    const messages = await waitUntil('the index to be complete', async () => {
      const found = await readMessages(app, accountId)
      return acted === 10 && found.length === 300 && found
    })
    const { events } = await readFeed(app)
    const own = events.filter(event => event.accountId === accountId)
    const [connected, initialized] = own
    expect([connected?.type, initialized?.type]).toEqual(['account.connected', 'account.initialized'])
    const state = { mailboxes: new Map(), messages: new Map(messages.map(message => [message.id, message])) }
    expect(countUnannounced(own, state)).toBe(initialized?.data.messages)
  })
})
