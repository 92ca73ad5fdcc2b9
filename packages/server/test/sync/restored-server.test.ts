import type { AccountIntegrity } from '@waxwing/contract/integrity/integrity.ts'
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestApp } from '../open-app.ts'
import type { Faults } from '../servers/chaos-faults.ts'
import { type ChaosProxy, startChaosProxy } from '../servers/chaos-proxy.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { readTruth } from '../servers/reference.ts'
import { useServer } from '../servers/shared-server.ts'
import { openWorld, type World } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import { connectMailbox, openSyncApp, readFeed, readMessages, waitForFirstSync } from './followed-account.ts'
import { messageEvents, retryUntil, shortMessage, shortMessages } from './proxied-account.ts'
import { casesFor } from '../soak.ts'

const server = useServer(() => startDovecot({ format: 'maildir' }))
let app: TestApp
beforeAll(async () => {
  app = await openSyncApp()
})
afterAll(() => app[Symbol.asyncDispose]())

/** An account on a Dovecot of Maildirs that are put back as they were. */
interface RestoredAccount extends AsyncDisposable {
  accountId: string
  proxy: ChaosProxy
  message(subject: string): Promise<MessageSummary>
  /** Events since the restore. */
  events(): Promise<string[]>
  /** Messages of the server, as `path: subject flags`. */
  truth(): Promise<string[]>
}

interface Restoration {
  /** Before the copy is made. */
  arrange(world: World): Promise<unknown>
  /** Lost by the restore. The service has indexed it by then. */
  lost(world: World): Promise<unknown>
  /** After the restore, and before the service reaches the server again. */
  after(world: World): Promise<unknown>
}

/** @param faults what the proxy does from the restore on */
async function openRestored(
  { arrange, lost, after }: Restoration,
  faults: Faults = {},
): Promise<RestoredAccount> {
  await using opened = new AsyncDisposableStack()
  const proxy = opened.use(await startChaosProxy(server()))
  const user = await server().addUser()
  const act = async (work: (world: World) => Promise<unknown>) => {
    await using world = await openWorld(server(), user)
    await work(world)
  }
  const truth = async () =>
    (await readTruth(server(), user)).flatMap(({ path, messages }) =>
      messages.map(({ subject, flags }) => [`${path}:`, subject, ...flags].join(' ')),
    )
  await act(arrange)
  const putBack = await server().backUp(user)
  await act(lost)
  const accountId = await connectMailbox(app, proxy, user)
  opened.defer(async () => void (await app.delete(`/v1/accounts/${accountId}`)))
  await waitForFirstSync(app, accountId)
  const { cursor } = await readFeed(app)
  proxy.faults = { byeAtGreeting: 'away' }
  proxy.cutAll()
  await putBack()
  await act(after)
  proxy.faults = faults
  const owned = opened.move()
  return {
    accountId,
    proxy,
    truth,
    async message(subject) {
      const found = (await readMessages(app, accountId)).find(message => message.subject === subject)
      if (!found) throw new Error(`no message ${subject}`)
      return found
    },
    events: async () =>
      messageEvents((await readFeed(app, cursor)).events.filter(event => event.accountId === accountId)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The same number under the same UIDVALIDITY, and only the header distinguishes the messages. */
const GIVEN_AGAIN: Restoration = {
  arrange: world => world.deliver([shortMessage(1), shortMessage(2)]),
  lost: world => world.deliver(shortMessage('A')),
  after: world => world.deliver(shortMessage('B')),
}

function waitForEvents(account: RestoredAccount, expected: readonly string[]): Promise<string[]> {
  return retryUntil(app, account.accountId, `events ${expected.join(', ')}`, async () => {
    const events = await account.events()
    return events.length >= expected.length ? events : null
  })
}

async function readIntegrity(accountId: string, query = ''): Promise<AccountIntegrity> {
  return (await app.get<AccountIntegrity>(`/v1/accounts/${accountId}/integrity${query}`)).body
}

describe.concurrent('a number that a restored server gave again', () => {
  const asks: Array<[string, (path: string) => Promise<{ status: number; body: unknown }>]> = [
    ['marking', path => app.patch(path, { isRead: true })],
    ['moving', path => app.delete(path)],
    ['removal', path => app.delete(`${path}?permanent=true`)],
    ['reading', path => app.get(path)],
    ['download', path => app.get(`${path}/raw`)],
  ]
  test.each(casesFor(asks, ([name]) => name === 'removal' || name === 'reading'))(
    'keeps %s of the former message away from the one that has it now',
    async (_, ask) => {
      await using account = await openRestored(GIVEN_AGAIN)
      const { accountId, message, truth, events } = account
      const before = await truth()
      const old = await message('message A')
      const answer = await retryUntil(app, accountId, 'the server to be reached', async () => {
        const answered = await ask(`/v1/accounts/${accountId}/messages/${old.id}`)
        return answered.status === 503 ? null : answered
      })
      expect(answer).toMatchObject({ status: 404, body: { code: 'provider_not_found' } })
      expect(await truth()).toEqual(before)
      const expected = ['message.created message B', 'message.deleted message A']
      expect((await waitForEvents(account, expected)).toSorted()).toEqual(expected)
      await waitUntil('the account to be verified', async () =>
        (await readIntegrity(accountId)).state === 'verified' ? true : null,
      )
      expect(await events()).toHaveLength(2)
    },
  )

  test.each([
    ['size', { raw: `${shortMessage('B').raw}and more\r\n`, internalDate: shortMessage('A').internalDate }],
    ['time', shortMessage('B', new Date(Date.UTC(2026, 0, 2)))],
  ])('is found by a comparison if the messages differ in their %s', async (_, given) => {
    await using account = await openRestored({ ...GIVEN_AGAIN, after: world => world.deliver(given) })
    const { accountId } = account
    await readIntegrity(accountId, '?refresh=true')
    const expected = ['message.created message B', 'message.deleted message A']
    expect((await waitForEvents(account, expected)).toSorted()).toEqual(expected)
    await waitUntil('the repair to be counted', async () => {
      const { state, missing, extra, repaired } = await readIntegrity(accountId)
      return state === 'verified' && missing + extra === 0 && repaired === 2 ? true : null
    })
  })
})

test.concurrent('another message that a comparison finds has the other mailboxes compared by their headers', async () => {
  const { raw, internalDate } = shortMessage('B')
  await using account = await openRestored({
    async arrange(world) {
      await world.createMailbox('Work')
      await world.deliver([shortMessage(1), shortMessage(2)])
      await world.deliver(shortMessage(3), 'Work')
    },
    async lost(world) {
      await world.deliver(shortMessage('A'))
      await world.deliver(shortMessage('C'), 'Work')
    },
    async after(world) {
      await world.deliver({ raw: `${raw}and more\r\n`, internalDate })
      await world.deliver(shortMessage('D'), 'Work')
    },
  })
  await readIntegrity(account.accountId, '?refresh=true')
  const expected = ['B', 'D'].map(name => `message.created message ${name}`)
  expected.push(...['A', 'C'].map(name => `message.deleted message ${name}`))
  expect((await waitForEvents(account, expected)).toSorted()).toEqual(expected)
  await waitUntil('the account to be verified', async () =>
    (await readIntegrity(account.accountId)).state === 'verified' ? true : null,
  )
})

test.concurrent.each<[string, Pick<Restoration, 'lost'>['lost'], string[]]>([
  ['next number', world => world.deliver(shortMessage('gone')), ['message.deleted message gone']],
  ['mod-sequence', world => world.flag('INBOX', [1], '\\Flagged'), ['message.updated message 1']],
])(
  'a lower %s of one mailbox has the others compared by their headers',
  async (_, loseInInbox, announced) => {
    await using account = await openRestored({
      async arrange(world) {
        await world.createMailbox('Work')
        await world.deliver([shortMessage(1), shortMessage(2)])
        await world.deliver([shortMessage(3), shortMessage(4)], 'Work')
      },
      async lost(world) {
        await loseInInbox(world)
        await world.deliver(shortMessage('A'), 'Work')
      },
      after: world => world.deliver(shortMessage('B'), 'Work'),
    })
    const expected = ['message.created message B', 'message.deleted message A', ...announced]
    expect((await waitForEvents(account, expected)).toSorted()).toEqual(expected.toSorted())
  },
)

test.concurrent('a message without a Message-ID is read though another identity was indexed', async () => {
  const user = await server().addUser()
  await using world = await openWorld(server(), user)
  const raw =
    'From: Ada <ada@a.test>\r\nDate: Thu, 1 Jan 2026 10:00:01 +0100\r\nSubject: nameless\r\n\r\nHello\r\n'
  await world.deliver({ raw, internalDate: new Date(Date.UTC(2026, 0, 1)) })
  const accountId = await connectMailbox(app, server(), user)
  await waitForFirstSync(app, accountId)
  await sql`update message set identity = gen_random_uuid() where account_id = ${accountId}`.execute(app.db)
  const [message] = await readMessages(app, accountId)
  expect(await app.get(`/v1/accounts/${accountId}/messages/${message?.id}/raw`)).toMatchObject({
    status: 200,
  })
  await app.delete(`/v1/accounts/${accountId}`)
})

test.concurrent('a message whose number was given again keeps its id where it is found', async () => {
  await using account = await openRestored({
    ...GIVEN_AGAIN,
    async after(world) {
      await world.deliver(shortMessage('B'))
      await world.createMailbox('Saved')
      await world.deliver(shortMessage('A'), 'Saved')
    },
  })
  const { message } = account
  const { id } = await message('message A')
  const expected = ['message.created message B', 'message.updated message A']
  expect((await waitForEvents(account, expected)).toSorted()).toEqual(expected)
  expect((await message('message A')).id).toBe(id)
})

test.concurrent('headers are compared by pages, and a connection that breaks repeats only the last page', async () => {
  const asked: string[] = []
  const cutAt = 3
  const faults: Faults = {
    judge(moment, command) {
      const [, set] =
        /^UID FETCH (\S*:\S*) \(UID BODY\.PEEK\[HEADER\.FIELDS \(MESSAGE-ID\)\]\)/.exec(command) ?? []
      if (moment !== 'asked' || set === undefined) return 'pass'
      asked.push(set)
      return asked.length === cutAt ? 'cut' : 'pass'
    },
  }
  await using account = await openRestored(
    {
      async arrange(world) {
        await world.createMailbox('Work')
        await world.deliver(shortMessages(1, 1_300), 'Work')
      },
      async lost(world) {
        await world.deliver(shortMessage('gone'))
        await world.deliver(shortMessage('A'), 'Work')
      },
      after: world => world.deliver(shortMessage('B'), 'Work'),
    },
    faults,
  )
  const expected = ['message.created message B', 'message.deleted message A', 'message.deleted message gone']
  expect((await waitForEvents(account, expected)).toSorted()).toEqual(expected)
  expect(asked).toEqual(['1:500', '501:1000', '1001:1301', '1001:1301'])
})
