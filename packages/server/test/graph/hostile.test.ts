import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Listening, listen } from '../../../sandbox/src/hosting/listen.ts'
import { letters } from '../../src/providers/conformance/arrangement.ts'
import { openIndex } from '../../src/providers/conformance/memory-index.ts'
import { ProviderFailure } from '../../src/providers/failure.ts'
import { useServer } from '../servers/shared-server.ts'
import { arrangeGraph, type GraphArrangement } from './arrange-graph.ts'
import { type GraphCall, startGraph } from './graph-server.ts'

/* Answers that Graph would not give. The service fails, sends nothing elsewhere, and goes on once they have ended. */

const server = useServer(startGraph)

const kindOf = (work: Promise<unknown>) =>
  work.then(
    () => 'nothing failed',
    (error: unknown) => (error instanceof ProviderFailure ? error.kind : String(error)),
  )

/** Follows the inbox until it is complete and equal to the mailbox. */
async function expectWhole(arranged: GraphArrangement, index = openIndex(arranged.inbox)): Promise<void> {
  server().intercept = null
  await using account = await arranged.connect({ clockAheadMs: 3_600_000 })
  await account.mail.listMailboxes()
  for (let rounds = 0; rounds < 3; rounds += 1) await index.follow(account.mail)
  expect(account.mail.isComplete(index.cursor, null)).toBe(true)
  const there = arranged.folder('INBOX').ordered.map(({ immutableId }) => immutableId)
  expect(new Set(index.messages.keys())).toEqual(new Set(there))
}

describe('a link that leads', () => {
  let elsewhere: Listening
  let requests: string[]
  beforeEach(async () => {
    requests = []
    elsewhere = await listen(
      request => {
        requests.push(request.url)
        return Response.json({ value: [] })
      },
      0,
      '127.0.0.1',
    )
  })
  afterEach(() => elsewhere[Symbol.asyncDispose]())

  const PATH = (email: string) => `/v1.0/users/${email}/mailFolders/inbox/messages/delta?$deltatoken=x`
  const LINKS: ReadonlyArray<readonly [string, (email: string, port: number) => string]> = [
    ['to another host', (email, port) => `http://127.0.0.1:${port}${PATH(email)}`],
    [
      'to a host behind user information',
      (email, port) => `https://graph.microsoft.com@127.0.0.1:${port}${PATH(email)}`,
    ],
    ['to another port', (email, port) => `https://graph.microsoft.com:${port}${PATH(email)}`],
    ['to a host of a similar name', email => `https://graph.microsoft.com.evil.test${PATH(email)}`],
    ['to another mailbox', () => `https://graph.microsoft.com${PATH('finn@office.test')}`],
    ['out of the mailboxes', () => 'https://graph.microsoft.com/v1.0/me/messages'],
    ['through a path with dots', email => `https://graph.microsoft.com/v1.0/users/${email}/../../x`],
    ['nowhere', () => 'a'.repeat(20_000)],
  ]
  const SITES: ReadonlyArray<
    readonly [string, (call: GraphCall) => boolean, '@odata.nextLink' | '@odata.deltaLink']
  > = [
    ['the delta', ({ path }) => path.includes('/messages/delta'), '@odata.nextLink'],
    ['the end of the delta', ({ path }) => path.includes('/messages/delta'), '@odata.deltaLink'],
    ['the folders', ({ path }) => path.includes('/mailFolders?'), '@odata.nextLink'],
    ['the messages of one second', ({ path }) => path.includes('/messages?$select=id%2C'), '@odata.nextLink'],
  ]

  test.each(LINKS)('%s gets no request, and does not stay', async (_, link) => {
    for (const [site, fits, name] of SITES) {
      await using arranged = await arrangeGraph(server())
      const [key] = await arranged.world.deliver(letters(1))
      const index = openIndex(arranged.inbox)
      const receivedDateTime = '2024-05-01T10:00:00Z'
      const evil = {
        value: site.includes('second')
          ? [
              { id: key, receivedDateTime },
              { id: 'b', receivedDateTime },
            ]
          : [],
        [name]: link(arranged.email, elsewhere.port),
      }
      server().intercept = call => (fits(call) ? Response.json(evil) : null)
      const read = async () => {
        await using account = await arranged.connect()
        await account.mail.listMailboxes()
        await index.follow(account.mail)
        await index.follow(account.mail)
      }
      expect(await kindOf(read()), site).toBe('rejected')
      expect(await kindOf(read()), site).toBe('rejected')
      expect(requests, site).toEqual([])
      await expectWhole(arranged, index)
    }
  })
})

const deep = (count: number) => `${'['.repeat(count)}${']'.repeat(count)}`
const text = (content: string | Uint8Array<ArrayBuffer>) =>
  new Response(content, { headers: { 'content-type': 'application/json' } })

describe('an answer', () => {
  test.each([
    ['of 33 MiB', () => text(new Uint8Array(33 * 1024 * 1024))],
    ['that is nested 200,000 times', () => text(deep(200_000))],
    ['that is nested within an id', () => text(`{"value":[{"id":${deep(200_000)}}]}`)],
    ['that is no JSON', () => text('<html>')],
    ['without content', () => text('')],
    ['that is cut', () => text('{"value":[')],
    ['with no list', () => text('{"value":7}')],
    ['with a list of nothing', () => text('{"value":[null,7,"a"]}')],
    [
      'with ids that are none',
      () => text(`{"value":[{"id":""},{"id":7},{"id":${JSON.stringify('a'.repeat(5_000))}}]}`),
    ],
    [
      'with more messages than a page can have',
      () => text(`{"value":[${'{"id":"a"},'.repeat(20_000)}{"id":"b"}]}`),
    ],
    ['with an inherited name', () => text('{"__proto__":{"value":[]},"constructor":1}')],
  ])('%s ends the reading, and harms nothing', async (_, answer) => {
    await using arranged = await arrangeGraph(server())
    const keys = await arranged.world.deliver(letters(3))
    const index = openIndex(arranged.inbox)
    await using account = await arranged.connect()
    const { mail } = account
    await mail.listMailboxes()
    await index.follow(mail)
    await arranged.world.deliver(letters(2, 10))
    server().intercept = () => answer()
    expect(await kindOf(mail.listMailboxes())).toBe('unavailable')
    expect(await kindOf(index.follow(mail))).toBe('unavailable')
    expect(await kindOf(openIndex(arranged.inbox).follow(mail))).toBe('unavailable')
    expect(await kindOf(mail.locate(null, keys))).toBe('unavailable')
    expect(
      await kindOf(
        mail.list(
          { source: arranged.inbox, cursor: null },
          { since: null, after: null, signal: new AbortController().signal },
        ),
      ),
    ).toBe('unavailable')
    expect([...index.messages.keys()].length).toBe(3)
    await expectWhole(arranged, index)
  })
})

test('a stored link that leads out of the mailbox restarts its folder', async () => {
  await using arranged = await arrangeGraph(server())
  await arranged.world.deliver(letters(3))
  await using account = await arranged.connect()
  const index = openIndex(arranged.inbox)
  await index.follow(account.mail)
  index.cursor = { ...index.cursor, link: 'https://graph.microsoft.com/v1.0/users/former/messages' }
  index.takeSteps()
  await index.compare(account.mail)
  expect(index.takeSteps()).toMatchObject([{ type: 'reset', keys: 'kept' }])
  await expectWhole(arranged, index)
})

describe('links without an end', () => {
  /** An answer to a call with the items, and a link. */
  const page = (value: object[], path: string) =>
    Response.json({ value, '@odata.nextLink': `https://graph.microsoft.com${path}` })
  const base = (path: string) => path.replace(/\?.*/, '')

  test('of a delta that lead to themselves end the reading', async () => {
    await using arranged = await arrangeGraph(server())
    const [key] = await arranged.world.deliver(letters(1))
    const index = openIndex(arranged.inbox)
    await using account = await arranged.connect()
    server().intercept = ({ path }) =>
      path.includes('/messages/delta') ? page([{ id: key! }], `${base(path)}?$skiptoken=same`) : null
    server().calls.length = 0
    await index.compare(account.mail)
    expect(await kindOf(index.bring(account.mail))).toBe('conflict')
    expect(server().calls.length).toBeLessThan(30)
    await expectWhole(arranged, index)
  })

  test('of a delta that repeats its pages bring each step by step, and no message twice', async () => {
    await using arranged = await arrangeGraph(server())
    const keys = await arranged.world.deliver(letters(4))
    const index = openIndex(arranged.inbox)
    await using account = await arranged.connect()
    await account.mail.listMailboxes()
    await index.follow(account.mail)
    index.cursor = account.mail.relist!(index.cursor!)
    server().intercept = ({ path }) => {
      if (!path.includes('/messages/delta')) return null
      const isOdd = path.includes('odd')
      return page([{ id: keys[isOdd ? 0 : 1]! }], `${base(path)}?$skiptoken=${isOdd ? 'even' : 'odd'}`)
    }
    // The engine stops between two steps, whenever others wait.
    expect(await index.bring(account.mail, 40)).toBe(false)
    expect(new Set(index.messages.keys())).toEqual(new Set(keys))
    await expectWhole(arranged, index)
  })

  test('of folders are followed for a while', async () => {
    await using arranged = await arrangeGraph(server())
    let calls = 0
    server().intercept = ({ path }) =>
      path.includes('/mailFolders?') ? page([], `${base(path)}?$skip=${(calls += 1)}`) : null
    await using account = await arranged.connect()
    await account.mail.listMailboxes()
    expect(calls).toBe(100)
  })

  test('of a list that lead to themselves are not followed, and its messages are found by their ids', async () => {
    await using arranged = await arrangeGraph(server())
    const [key] = await arranged.world.deliver(letters(1))
    const receivedDateTime = '2024-05-01T10:00:00Z'
    const index = openIndex(arranged.inbox)
    await using account = await arranged.connect()
    server().intercept = ({ path }) =>
      path.includes('internetMessageHeaders') && !path.includes(`/messages/${key}`)
        ? page(
            [{ id: key, receivedDateTime, parentFolderId: arranged.inbox }],
            `${base(path)}?internetMessageHeaders`,
          )
        : null
    server().calls.length = 0
    await index.follow(account.mail)
    expect([...index.messages.keys()]).toEqual([key])
    expect(server().calls.length).toBeLessThan(30)
    await expectWhole(arranged, index)
  })
})
