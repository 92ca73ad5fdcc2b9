import { describe, expect, test } from 'vitest'
import { configureGmail, type GmailClient, openGmailClient } from '../../../test/gmail/gmail-client.ts'
import { callsTo, reachSandbox, tokensFor } from '../../../test/gmail/reach-sandbox.ts'
import { type SandboxServer, startSandbox } from '../../../test/servers/sandbox.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { Secret } from '../../kit/secret.ts'
import { failureOf } from '../conformance/changing-steps.ts'
import { contentOf, outgoing } from '../conformance/sending.ts'
import { ProviderFailure } from '../failure.ts'
import type { HandedOver, OutgoingContent, OutgoingMessage, SendingProvider } from '../sending.ts'
import { QuotaGovernor } from '../google/governor.ts'
import { MESSAGE_BYTES_MAX } from './upload.ts'

const HOST = 'gmail.googleapis.com'
const UPLOAD = '/upload/gmail/v1/users/me/messages/send'
/** More than is uploaded together with its metadata. */
const LARGE_BYTES = 1_500_000

const sandbox = useServer(() => startSandbox())
let users = 0

interface Sender extends AsyncDisposable {
  server: SandboxServer
  sending: SendingProvider
  email: string
  client: GmailClient
  other: GmailClient & { email: string }
}

async function openSender(): Promise<Sender> {
  const server = sandbox()
  await configureGmail(server, { quota: 'off', overwriteMessageIds: false })
  const [email, otherEmail] = [`sender-${++users}@gmail.test`, `other-${users}@gmail.test`]
  await server.addUser(email)
  await server.addUser(otherEmail)
  const reached = await reachSandbox(server, email)
  const other = { ...(await openGmailClient(server, otherEmail)), email: otherEmail }
  return {
    server,
    sending: reached.connect().sending,
    email,
    client: await openGmailClient(server, email),
    other,
    async [Symbol.asyncDispose]() {
      await server.clearFaults()
      await reached[Symbol.asyncDispose]()
    },
  }
}

const letterTo = (to: string, { id = 'one', extra = '', body = 'hello\r\n' } = {}) =>
  `From: Ada <me@gmail.test>\r\nTo: ${to}\r\nSubject: ${id}\r\nMessage-ID: <${id}@gmail.test>\r\nX-Waxwing-Outbox: outbox-${id}\r\n${extra}\r\n${body}`

const large = 'x'
  .repeat(70)
  .concat('\r\n')
  .repeat(Math.ceil(LARGE_BYTES / 72))

/** Counts the hand-overs. */
function handing(
  from: string,
  to: string[],
  content: OutgoingContent,
  change: Partial<OutgoingMessage> = {},
) {
  const handed = { count: 0 }
  const message: OutgoingMessage = {
    ...outgoing(from, to, content),
    beforeHandOver: async () => void handed.count++,
    ...change,
  }
  return { message, handed }
}

const handedOver = (id: string, handedOverAt = new Date()): HandedOver => ({
  internetMessageId: `<${id}@gmail.test>`,
  outboxId: `outbox-${id}`,
  trace: null,
  handedOverAt,
})

describe('gmail: sending', () => {
  test('hands over the bytes of the content to all recipients, and returns the key of the copy', async () => {
    await using sender = await openSender()
    const { sending, client, other, email } = sender
    expect(sending).toMatchObject({
      filesCopy: 'always',
      limits: { readsHeader: true, messageBytesMax: MESSAGE_BYTES_MAX },
    })
    const letter = letterTo('undisclosed-recipients:;', {
      extra: `Bcc: ${other.email}\r\n`,
      body: 'grün\r\n.\r\n',
    })
    const { message, handed } = handing(email, [other.email], contentOf(letter, 7))
    const { recipients, given } = await sending.send(message)
    expect(recipients).toEqual([{ address: other.email, refusal: null }])
    expect(handed.count).toBe(1)
    const [copy] = await client.messages()
    expect(given).toEqual({ key: copy?.id, threadId: copy?.threadId })
    expect(copy?.labelIds).toEqual(['SENT'])
    expect(await client.rawOf(copy!.id)).toContain(letter.slice(letter.indexOf('To:')))
    const [arrived] = await other.messages()
    const got = await other.rawOf(arrived!.id)
    expect(got).toContain('grün\r\n.\r\n')
    expect(got).not.toContain('Bcc')
  })

  test('uploads a large message in a session, of which only the last request has an effect', async () => {
    await using sender = await openSender()
    const { sending, server, client, other, email } = sender
    const before = (await server.calls({ user: email })).items.length
    const letter = letterTo(other.email, { body: large })
    let sentBefore: number | null = null
    const { message } = handing(email, [other.email], contentOf(letter), {
      beforeHandOver: async () => void (sentBefore = (await client.messages()).length),
    })
    const { given } = await sending.send(message)
    expect(sentBefore).toBe(0)
    expect((await client.rawOf(given.key!)).endsWith(large)).toBe(true)
    const calls = (await server.calls({ user: email })).items.slice(before)
    expect(
      calls.filter(({ path }) => path.startsWith('/upload/')).map(({ method, status }) => [method, status]),
    ).toEqual([['POST', 200]])
  })

  test('replies in the thread, and sends into another one if that is gone', async () => {
    await using sender = await openSender()
    const { sending, client, other, email } = sender
    const first = await client.insert(letterTo(email, { id: 'first' }), ['INBOX'])
    const extra = 'In-Reply-To: <first@gmail.test>\r\nReferences: <first@gmail.test>\r\n'
    const letter = letterTo(other.email, { extra }).replace('Subject: one', 'Subject: Re: first')
    const reply = handing(email, [other.email], contentOf(letter), { threadId: first.threadId })
    expect((await sending.send(reply.message)).given.threadId).toBe(first.threadId)
    const lost = handing(email, [other.email], contentOf(letter), { threadId: 'ffffffffffffffff' })
    expect((await sending.send(lost.message)).recipients[0]?.refusal).toBeNull()
  })

  test.each<[string, Partial<OutgoingContent>, string]>([
    ['fewer bytes than it says', { byteLength: 1_000 }, 'not as long'],
    ['more bytes than it says', { byteLength: 10 }, 'not as long'],
    ['more bytes than Gmail takes', { byteLength: MESSAGE_BYTES_MAX + 1 }, 'at most'],
  ])('refuses content with %s, and hands nothing over', async (_, change, text) => {
    await using sender = await openSender()
    const { sending, client, other, email } = sender
    const { message, handed } = handing(email, [other.email], {
      ...contentOf(letterTo(other.email)),
      ...change,
    })
    const { recipients } = await sending.send(message)
    expect(recipients).toMatchObject([
      { refusal: { of: 'message', isPermanent: true, message: expect.stringContaining(text) } },
    ])
    expect(recipients[0]?.refusal?.isTooLarge).toBe(text === 'at most')
    expect([handed.count, (await client.messages()).length]).toEqual([0, 0])
  })

  test('hands nothing over if the caller or the content fails, or it is aborted', async () => {
    await using sender = await openSender()
    const { sending, client, other, email } = sender
    for (const body of ['hello\r\n', large]) {
      const content = contentOf(letterTo(other.email, { body }))
      const refused = handing(email, [other.email], content, {
        beforeHandOver: () => Promise.reject(new Error('not now')),
      })
      await expect(sending.send(refused.message)).rejects.toThrow('not now')
      const damaged = handing(email, [other.email], {
        ...content,
        async *open() {
          yield Buffer.from('Subject: x\r\n')
          throw new Error('the disk is gone')
        },
      })
      await expect(sending.send(damaged.message)).rejects.toThrow('the disk is gone')
      expect(damaged.handed.count).toBe(0)
      const stop = new AbortController()
      const stopped = handing(
        email,
        [other.email],
        {
          ...content,
          async *open() {
            stop.abort()
            yield* content.open()
          },
        },
        { signal: stop.signal },
      )
      expect(await failureOf(sending.send(stopped.message))).toMatchObject({
        kind: 'unavailable',
        isBeforeAcceptance: true,
      })
      expect(stopped.handed.count).toBe(0)
    }
    expect(await client.messages()).toEqual([])
  })

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      'is over its rate',
      { does: 'rate_limit', retryAfterSeconds: 7 },
      { kind: 'throttled', retryAfterSeconds: 7 },
    ],
    ['is over its quota', { does: 'quota' }, { kind: 'throttled' }],
    [
      'fails before it answers',
      { does: 'error', status: 503 },
      { kind: 'unavailable', isBeforeAcceptance: false },
    ],
  ])('fails for the account if Gmail %s', async (_, fault, failure) => {
    await using sender = await openSender()
    const { sending, server, client, other, email } = sender
    await server.addFault({ ...fault, host: HOST, path: UPLOAD, count: 1 })
    const { message } = handing(email, [other.email], contentOf(letterTo(other.email)))
    const isBeforeAcceptance = failure['kind'] === 'throttled'
    expect(await failureOf(sending.send(message))).toMatchObject({ isBeforeAcceptance, ...failure })
    expect(await client.messages()).toEqual([])
  })

  test('waits for its own quota before the hand-over', async () => {
    await using sender = await openSender()
    const { server, email, other } = sender
    const governor = new QuotaGovernor({ userUnitsPerMinute: 150, projectUnitsPerMinute: 1e9 })
    await using reached = await reachSandbox(server, email, { quota: governor.userOf('tests', email) })
    const { sending } = reached.connect()
    const { message, handed } = handing(email, [other.email], contentOf(letterTo(other.email)))
    await sending.send(message)
    expect(await failureOf(sending.send(message))).toMatchObject({
      kind: 'throttled',
      isBusy: true,
      retryAfterSeconds: expect.any(Number),
    })
    expect(handed.count).toBe(1)
  })

  test.each<[string, 'get' | 'renew']>([
    ['has no token', 'get'],
    ['has no other token for one that Gmail refuses', 'renew'],
  ])('can be tried again if it %s', async (_, method) => {
    await using sender = await openSender()
    const { server, client, other, email } = sender
    const tokens = await tokensFor(server, email)
    const away = () => Promise.reject(new ProviderFailure('unavailable', 'The sign-in of Google is away.'))
    await using reached = await reachSandbox(server, email, { tokens: { ...tokens, [method]: away } })
    if (method === 'renew')
      await server.addFault({ does: 'unauthorized', host: HOST, path: UPLOAD, count: 1 })
    const { message, handed } = handing(email, [other.email], contentOf(letterTo(other.email)))
    expect(await failureOf(reached.connect().sending.send(message))).toMatchObject({
      kind: 'unavailable',
      isBeforeAcceptance: true,
    })
    expect(handed.count).toBe(method === 'get' ? 0 : 1)
    expect(await client.messages()).toEqual([])
  })

  test.each([404, 410])(
    'can be tried again in its thread if an upload session is lost (%s)',
    async status => {
      await using sender = await openSender()
      const { sending, server, client, other, email } = sender
      const first = await client.insert(letterTo(email, { id: 'first' }), ['INBOX'])
      const lose = () =>
        server.addFault({ does: 'error', status, host: HOST, path: UPLOAD, method: 'PUT', count: 1 })
      const content = contentOf(letterTo(other.email, { body: large }))
      const inThread = { threadId: first.threadId }
      const isLost = { kind: 'unavailable', isBeforeAcceptance: true }
      // At the last piece of one in a thread, and of one in none.
      for (const change of [inThread, {}]) {
        const { message } = handing(email, [other.email], content, {
          ...change,
          beforeHandOver: async () => void (await lose()),
        })
        expect(await failureOf(sending.send(message))).toMatchObject(isLost)
      }
      await lose()
      const { message, handed } = handing(email, [other.email], content, inThread)
      expect(await failureOf(sending.send(message))).toMatchObject(isLost)
      expect(handed.count).toBe(0)
      expect(await client.messages()).toHaveLength(1)
    },
  )

  test('sends a large reply into another thread if its own is gone', async () => {
    await using sender = await openSender()
    const { sending, other, email } = sender
    const { message } = handing(email, [other.email], contentOf(letterTo(other.email, { body: large })), {
      threadId: 'ffffffffffffffff',
    })
    const { recipients, given } = await sending.send(message)
    expect(recipients[0]?.refusal).toBeNull()
    expect(given.threadId).not.toBe('ffffffffffffffff')
  })

  test('renews a refused token, and sends once', async () => {
    await using sender = await openSender()
    const { sending, server, client, other, email } = sender
    await server.addFault({ does: 'unauthorized', host: HOST, path: UPLOAD, count: 1 })
    const { message } = handing(email, [other.email], contentOf(letterTo(other.email)))
    await sending.send(message)
    expect(await client.messages()).toHaveLength(1)
  })

  test('refuses a message without a recipient for good, in the words of Gmail', async () => {
    await using sender = await openSender()
    const { sending, email } = sender
    const { message } = handing(email, ['x@example.com'], contentOf(letterTo('undisclosed-recipients:;')))
    expect((await sending.send(message)).recipients).toMatchObject([
      {
        refusal: {
          of: 'message',
          isPermanent: true,
          status: '5.0.0',
          message: expect.stringContaining('Recipient address required'),
        },
      },
    ])
  })

  test('needs a permission to send', async () => {
    await using sender = await openSender()
    const { server, email, other } = sender
    const { accessToken } = await server.grant(email, ['https://www.googleapis.com/auth/gmail.readonly'])
    const token = new Secret(accessToken)
    await using calls = callsTo(server)
    await using reached = await reachSandbox(server, email, {
      calls,
      tokens: { get: async () => token, renew: async () => token },
    })
    const { message } = handing(email, [other.email], contentOf(letterTo(other.email)))
    expect(await failureOf(reached.connect().sending.send(message))).toMatchObject({
      kind: 'scope_missing',
      isBeforeAcceptance: true,
    })
  })
})

describe('gmail: a lost answer', () => {
  test.each(['hello\r\n', large])(
    'leaves the outcome unknown or finds it, and the copy is found',
    async body => {
      await using sender = await openSender()
      const { sending, server, client, other, email } = sender
      await server.addFault({
        does: 'lost',
        host: HOST,
        path: '/upload/*',
        count: 1,
        method: body === large ? 'PUT' : 'POST',
      })
      const { message } = handing(email, [other.email], contentOf(letterTo(other.email, { body })))
      const sent = sending.send(message)
      if (body === large) await sent.catch(() => null)
      else expect(await failureOf(sent)).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: false })
      const copies = (await client.messages()).length
      expect(copies).toBeLessThanOrEqual(1)
      const found = await sending.lookUp(handedOver('one'))
      const [copy] = await client.messages()
      expect(found).toEqual(copy ? { outcome: 'accepted', key: copy.id } : { outcome: 'absent' })
    },
  )

  test('is cleared up by our field if Gmail has replaced the Message-ID', async () => {
    await using sender = await openSender()
    const { sending, server, client, other, email } = sender
    await configureGmail(server, { overwriteMessageIds: true })
    for (const id of ['one', 'two'])
      await sending.send(handing(email, [other.email], contentOf(letterTo(other.email, { id }))).message)
    const subjects = await Promise.all(
      (await client.messages()).map(async ({ id }) => [id, await client.rawOf(id)] as const),
    )
    const [key] = subjects.find(([, raw]) => raw.includes('Subject: two'))!
    expect(await sending.lookUp(handedOver('two'))).toEqual({ outcome: 'accepted', key })
    expect(await sending.lookUp(handedOver('three'))).toEqual({ outcome: 'absent' })
  })

  test('is not proven by a draft, nor by mail from outside with the same fields', async () => {
    await using sender = await openSender()
    const { sending, server, client, email } = sender
    await client.createDraft(letterTo('x@example.com'))
    await server.deliver(email, letterTo(email))
    expect(await sending.lookUp(handedOver('one'))).toEqual({ outcome: 'absent' })
  })

  test('cannot be cleared up among too many messages that were sent since', async () => {
    await using sender = await openSender()
    const { sending, client } = sender
    for (let count = 0; count < 201; count++)
      await client.insert(letterTo('x@example.com', { id: `other-${count}` }), ['SENT'])
    expect(await sending.lookUp(handedOver('one'))).toEqual({ outcome: 'not_known' })
    expect(await sending.lookUp(handedOver('one', new Date(Date.now() + 86_400_000)))).toEqual({
      outcome: 'absent',
    })
  })
})
