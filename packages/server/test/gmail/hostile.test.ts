import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { Secret } from '../../src/kit/secret.ts'
import { openIndex, partsOf } from '../../src/providers/conformance/memory-index.ts'
import { ProviderFailure } from '../../src/providers/failure.ts'
import { gmailAccount } from '../../src/providers/gmail/account.ts'
import type { RemoteMessage } from '../../src/providers/mail.ts'
import { waitUntil } from '../wait-until.ts'
import { boundless, callsTo } from './reach-sandbox.ts'

type Answer = (url: URL, request: IncomingMessage) => unknown

/** A Gmail with answers of the test, and an account of it. */
async function startHostile(answer: Answer, clock = { now: Date.now() }) {
  const requests: string[] = []
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://gmail')
    requests.push(url.pathname.replace('/gmail/v1/users/me/', ''))
    request.resume()
    const answered = answer(url, request)
    if (typeof answered === 'function') return answered(response)
    if (answered === undefined) {
      response.statusCode = 404
      return response.end('{}')
    }
    response.setHeader('content-type', 'application/json')
    response.end(typeof answered === 'string' ? answered : JSON.stringify(answered))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const calls = callsTo({ hosts: { 'gmail.googleapis.com': `http://127.0.0.1:${port}` } })
  const token = new Secret('token')
  const account = gmailAccount({
    calls,
    tokens: { get: async () => token, renew: async () => token },
    quota: boundless.userOf('hostile', 'user'),
    now: () => clock.now,
    pollSeconds: 0.1,
    signal: new AbortController().signal,
  })
  return {
    account,
    requests,
    async [Symbol.asyncDispose]() {
      await calls[Symbol.asyncDispose]()
      server.closeAllConnections()
      server.close()
    },
  }
}

const profile = { emailAddress: 'me@gmail.test', messagesTotal: 3, historyId: '100' }
const cursor = {
  version: 1,
  historyId: '50',
  listing: null,
  listedSince: null,
  healedAt: null,
  hasGap: false,
}
const ref = (id: string) => ({ id, threadId: id })

async function failureOf(work: Promise<unknown>): Promise<ProviderFailure> {
  const error: unknown = await work.then(
    () => null,
    reason => reason,
  )
  if (!(error instanceof ProviderFailure)) throw new Error('No ProviderFailure', { cause: error })
  return error
}

const followed = () => {
  const index = openIndex('history')
  index.cursor = { ...cursor }
  return index
}

describe('Gmail that lies', () => {
  test.each<[string, unknown]>([
    ['something else', { hello: 'world' }],
    ['no JSON', '<html>Sign in</html>'],
    ['an id that is no number', { ...profile, historyId: '1; drop table' }],
    ['a number that is too large', { ...profile, historyId: '9'.repeat(400) }],
  ])('with %s has failed', async (_, answer) => {
    await using hostile = await startHostile(() => answer)
    const failure = await failureOf(followed().compare(hostile.account.mail))
    expect(failure.kind).toBe('unavailable')
    expect(failure.message.length).toBeLessThan(300)
  })

  test('costs no more than a page where the history never ends', async () => {
    let page = 0
    await using hostile = await startHostile(url =>
      url.pathname.endsWith('/history')
        ? { history: [], nextPageToken: `page ${(page += 1)}`, historyId: '60' }
        : profile,
    )
    expect((await failureOf(followed().compare(hostile.account.mail))).kind).toBe('unavailable')
    expect(hostile.requests.length).toBeLessThan(200)
  })

  test.each(['history', 'messages'])('is not asked for the same page of %s for ever', async what => {
    await using hostile = await startHostile(url => {
      if (url.pathname.endsWith('/history'))
        return { history: [{ id: '51' }], nextPageToken: 'same', historyId: '60' }
      if (url.pathname.endsWith('/messages')) return { messages: [], nextPageToken: 'same' }
      return profile
    })
    const index = followed()
    if (what === 'messages') index.cursor = { ...cursor, listing: 'first' }
    const work = what === 'history' ? index.compare(hostile.account.mail) : index.bring(hostile.account.mail)
    expect((await failureOf(work)).message).toMatch(/does not come to its end|repeats a page/)
    expect(hostile.requests.length).toBeLessThan(10)
  })

  test('takes the cursor of no history back', async () => {
    await using hostile = await startHostile(url =>
      url.pathname.endsWith('/history') ? { history: [{ id: '7' }], historyId: '10' } : profile,
    )
    const index = followed()
    await index.compare(hostile.account.mail)
    expect(index.cursor).toMatchObject({ historyId: '50' })
  })

  test('is listed again once it has only ids below those that it reported before', async () => {
    const clock = { now: Date.now() }
    await using hostile = await startHostile(
      url => (url.pathname.endsWith('/labels') ? { labels: [] } : { ...profile, historyId: '10' }),
      clock,
    )
    const { mail } = hostile.account
    const index = followed()
    const [mailbox] = await mail.listMailboxes()
    expect(mail.hasChanged(mailbox!, index.cursor)).toBe(true)
    await index.compare(mail)
    expect(index.cursor).toMatchObject({ historyId: '50', listing: null })
    const notice = await mail.watch('history', 20, new AbortController().signal)
    expect(notice).toMatchObject({ arrived: true })
    clock.now += 60_000
    await index.compare(mail)
    expect(index.cursor).toMatchObject({ historyId: '10', listing: 'healing' })
  })

  test('may forget a page of its history, which is then read from the cursor again', async () => {
    let refusals = 0
    await using hostile = await startHostile(url => {
      if (!url.pathname.endsWith('/history')) return profile
      if (url.searchParams.get('startHistoryId') === '51') return { history: [{ id: '52' }], historyId: '60' }
      if (!url.searchParams.has('pageToken'))
        return { history: [{ id: '51' }, { id: '52' }], nextPageToken: 'two', historyId: '60' }
      refusals += 1
      return (response: ServerResponse) => response.writeHead(400).end('{"error":{"message":"Bad token"}}')
    })
    const index = followed()
    await index.compare(hostile.account.mail)
    expect(refusals).toBe(1)
    expect(index.cursor).toEqual({ ...cursor, historyId: '60', step: 0 })
  })

  test('marks a draft as unreadable that it lists and does not give, and goes on', async () => {
    await using hostile = await startHostile(url => {
      if (url.pathname.endsWith('/history'))
        return { history: [{ id: '51', messagesDeleted: [{ message: ref('a') }] }], historyId: '60' }
      if (url.pathname.endsWith('/drafts')) return { drafts: [{ id: 'draft', message: ref('b') }] }
      return url.pathname.endsWith('/drafts/draft') ? { hello: 'world' } : profile
    })
    const index = followed()
    index.messages.set('a', { key: 'a', draftKey: 'draft' } as RemoteMessage)
    await index.compare(hostile.account.mail)
    expect([...index.unreadable.keys()]).toEqual(['b'])
    expect(index.cursor).toMatchObject({ historyId: '60' })
  })

  test('may leave a draft out of its list, which is brought nevertheless', async () => {
    await using hostile = await startHostile(url => {
      if (url.pathname.endsWith('/history'))
        return { history: [{ id: '51', messagesAdded: [{ message: ref('a') }] }], historyId: '60' }
      if (url.pathname.endsWith('/drafts')) return { drafts: [] }
      return url.pathname.endsWith('/messages/a') ? { ...ref('a'), labelIds: ['DRAFT'] } : profile
    })
    const index = followed()
    await index.compare(hostile.account.mail)
    expect(index.messages.get('a')).toMatchObject({ isDraft: true, draftKey: null })
  })

  test('marks a message that is not the one that was asked for, or has no end, as unreadable', async () => {
    await using hostile = await startHostile(url => {
      if (url.pathname.endsWith('/history'))
        return { history: [{ id: '51', messagesAdded: [{ message: ref('a') }] }], historyId: '60' }
      if (url.pathname.endsWith('/messages/a')) return { ...ref('b'), labelIds: ['INBOX'] }
      return profile
    })
    const index = followed()
    await index.compare(hostile.account.mail)
    expect([...index.unreadable.keys()]).toEqual(['a'])
    expect(index.messages.size).toBe(0)
  })

  test('leaves out a message whose parts are nested without end, and goes on', async () => {
    const depth = 100_000
    const payload = `${'{"parts":['.repeat(depth)}{}${']}'.repeat(depth)}`
    await using hostile = await startHostile(url => {
      if (url.pathname.endsWith('/history'))
        return { history: [{ id: '51', messagesAdded: [{ message: ref('a') }] }], historyId: '60' }
      return url.pathname.endsWith('/messages/a') ? `{"id":"a","threadId":"a","payload":${payload}}` : profile
    })
    const index = followed()
    await index.compare(hostile.account.mail)
    expect([...index.unreadable.keys()]).toEqual(['a'])
  })

  test('leaves out a message whose answer is too large, and goes on', async () => {
    let isDone = false
    await using hostile = await startHostile(url => {
      if (url.pathname.endsWith('/history'))
        return { history: [{ id: '51', messagesAdded: [{ message: ref('a') }] }], historyId: '60' }
      if (!url.pathname.endsWith('/messages/a')) return profile
      return (response: ServerResponse) => {
        response.on('close', () => (isDone = true))
        response.write('{"id":"')
        const fill = () => {
          while (!response.destroyed && response.write('x'.repeat(65_536)));
        }
        response.on('drain', fill)
        fill()
      }
    })
    const index = followed()
    await index.compare(hostile.account.mail)
    expect([...index.unreadable.keys()]).toEqual(['a'])
    expect(index.cursor).toMatchObject({ historyId: '60' })
    await expect.poll(() => isDone).toBe(true)
  })

  test('leaves no message out because a token is refused: the next look brings it', async () => {
    let isRefusing = true
    await using hostile = await startHostile(url => {
      if (url.pathname.endsWith('/history'))
        return { history: [{ id: '51', messagesAdded: [{ message: ref('a') }] }], historyId: '60' }
      if (!url.pathname.endsWith('/messages/a')) return profile
      return isRefusing
        ? (response: ServerResponse) => response.writeHead(401).end('{}')
        : { ...ref('a'), labelIds: ['INBOX'] }
    })
    const index = followed()
    expect((await failureOf(index.compare(hostile.account.mail))).kind).toBe('access_refused')
    expect(index.unreadable.size).toBe(0)
    expect(index.cursor).toMatchObject({ historyId: '50' })
    isRefusing = false
    await index.compare(hostile.account.mail)
    expect([...index.messages.keys()]).toEqual(['a'])
  })

  test('is asked again for the parts that its answer to a batch leaves out, doubles or muddles', async () => {
    let batches = 0
    await using hostile = await startHostile(url => {
      if (url.pathname.endsWith('/history'))
        return {
          history: [{ id: '51', messagesAdded: ['a', 'b', 'c'].map(id => ({ message: ref(id) })) }],
          historyId: '60',
        }
      if (!url.pathname.startsWith('/batch')) return profile
      batches += 1
      const part = (item: number, id: string) =>
        `--x\r\nContent-Type: application/http\r\nContent-ID: <response-item-${item}>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n${JSON.stringify({ ...ref(id), labelIds: ['INBOX'] })}\r\n`
      const parts =
        batches === 1 ? [part(1, 'b'), part(1, 'evil'), part(77, 'evil')] : [part(1, 'c'), part(0, 'a')]
      return (response: ServerResponse) =>
        response
          .writeHead(200, { 'content-type': 'multipart/mixed; boundary=x' })
          .end(`${parts.join('')}--x--`)
    })
    const index = followed()
    await index.compare(hostile.account.mail)
    expect([...index.messages.keys()].toSorted()).toEqual(['a', 'b', 'c'])
    expect(batches).toBe(2)
  })

  test('has old labels of a message that was fetched since, and they are not believed', async () => {
    const ids = Array.from({ length: 51 }, (_, number) => `m${number}`)
    const read = (id: string) => ({ ...ref(id), labelIds: ['INBOX'] })
    const added = ids.map((id, number) => ({
      id: String(51 + number),
      messagesAdded: [{ message: { ...ref(id), labelIds: ['INBOX', 'UNREAD'] } }],
    }))
    const marked = ids.map((id, number) => ({
      id: String(120 + number),
      labelsRemoved: [{ message: read(id) }],
    }))
    let isBroken = true
    await using hostile = await startHostile(url => {
      if (url.pathname.endsWith('/history'))
        return url.searchParams.has('pageToken')
          ? { history: marked, historyId: '200' }
          : { history: added, nextPageToken: 'more', historyId: '200' }
      // The second piece.
      if (url.pathname.endsWith('/messages/m50'))
        return isBroken ? (response: ServerResponse) => response.writeHead(401).end('{}') : read('m50')
      if (!url.pathname.startsWith('/batch')) return profile
      const parts = ids
        .slice(0, 50)
        .map(
          (id, item) =>
            `--x\r\nContent-Type: application/http\r\nContent-ID: <response-item-${item}>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n${JSON.stringify(read(id))}\r\n`,
        )
      return (response: ServerResponse) =>
        response
          .writeHead(200, { 'content-type': 'multipart/mixed; boundary=x' })
          .end(`${parts.join('')}--x--`)
    })
    const index = followed()
    expect((await failureOf(index.compare(hostile.account.mail))).kind).toBe('access_refused')
    expect(index.messages.size).toBe(50)
    expect(index.cursor).toMatchObject({ historyId: '50' })
    isBroken = false
    await index.compare(hostile.account.mail)
    const told = partsOf(index.takeSteps()).flatMap(step => (step.type === 'states' ? step.changes : []))
    expect(told.map(({ key }) => key).toSorted()).toEqual([...ids].toSorted())
    expect(told.filter(({ flags }) => !flags.isRead)).toEqual([])
    expect(index.messages.size).toBe(51)
  })

  test('keeps no message from being read while it does not list drafts', async () => {
    const read = (id: string) => ({ ...ref(id), labelIds: [id === 'm1' ? 'DRAFT' : 'INBOX'] })
    const ids = ['m0', 'm1', 'm2']
    let isLimited = true
    await using hostile = await startHostile(url => {
      if (url.pathname.endsWith('/history')) {
        const history = ids.map((id, number) => ({
          id: String(51 + number),
          messagesAdded: [{ message: read(id) }],
        }))
        return { history, historyId: '200' }
      }
      if (url.pathname.endsWith('/drafts'))
        return isLimited
          ? (response: ServerResponse) => response.writeHead(429, { 'retry-after': '1' }).end('{}')
          : { drafts: [{ id: 'd1', message: ref('m1') }] }
      if (url.pathname.endsWith('/messages/m1')) return read('m1')
      if (!url.pathname.startsWith('/batch')) return profile
      const parts = ids.map(
        (id, item) =>
          `--x\r\nContent-Type: application/http\r\nContent-ID: <response-item-${item}>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n${JSON.stringify(read(id))}\r\n`,
      )
      return (response: ServerResponse) =>
        response
          .writeHead(200, { 'content-type': 'multipart/mixed; boundary=x' })
          .end(`${parts.join('')}--x--`)
    })
    const index = followed()
    const { mail } = hostile.account
    expect((await failureOf(index.compare(mail))).kind).toBe('throttled')
    expect([...index.messages.keys()].toSorted()).toEqual(['m0', 'm2'])
    isLimited = false
    await waitUntil('the draft', () =>
      index.compare(mail).then(
        () => true,
        () => false,
      ),
    )
    expect([...index.messages.keys()].toSorted()).toEqual(ids)
  })

  test('is asked for less at once if its answer to a batch is too large', async () => {
    await using hostile = await startHostile(url => {
      if (url.pathname.endsWith('/history'))
        return {
          history: [{ id: '51', messagesAdded: ['a', 'b', 'c'].map(id => ({ message: ref(id) })) }],
          historyId: '60',
        }
      const id = /\/messages\/(\w)$/.exec(url.pathname)?.[1]
      if (id) return { ...ref(id), labelIds: ['INBOX'] }
      if (!url.pathname.startsWith('/batch')) return profile
      return (response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'multipart/mixed; boundary=x' })
        const fill = () => {
          while (!response.destroyed && response.write('x'.repeat(65_536)));
        }
        response.on('drain', fill)
        fill()
      }
    })
    const index = followed()
    await index.compare(hostile.account.mail)
    expect([...index.messages.keys()].toSorted()).toEqual(['a', 'b', 'c'])
    expect(index.unreadable.size).toBe(0)
  })

  test('sends any text as an error, and it is cut', async () => {
    await using hostile = await startHostile(() => (response: ServerResponse) => {
      response.statusCode = 403
      response.end(JSON.stringify({ error: { message: `a\u0000\n${'b'.repeat(100_000)}` } }))
    })
    const failure = await failureOf(hostile.account.mail.listMailboxes())
    expect(failure.kind).toBe('forbidden')
    expect(failure.message).toMatch(/^Gmail answered 403: a b{1,200}$/)
  })
})
