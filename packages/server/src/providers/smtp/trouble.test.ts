import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { makeCertificates } from '../../../test/servers/certificate.ts'
import {
  type SinkAnswer,
  type SinkStep,
  type SmtpSink,
  type SmtpSinkOptions,
  startSmtpSink,
} from '../../../test/servers/smtp-sink.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { trustAlso } from '../../kit/authorities.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { egressGuard } from '../../kit/egress/guard.ts'
import type { OutgoingContent } from '../sending.ts'
import { contentOf, CRLF, letterOf, outgoing } from '../conformance/sending.ts'
import { smtpAccount } from './sending.ts'
import type { SmtpEndpoint } from './session.ts'

const guard = egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) })
const LOGIN = { user: 'ada@sink.test', password: 'correct horse' }
const POURED_BYTES_MAX = 16 * 1024 * 1024
const small = () => contentOf(letterOf('small', `hello${CRLF}`))
/** More than the buffers of a connection hold. */
const large = () => contentOf(letterOf('large', `${'x'.repeat(76)}${CRLF}`.repeat(400_000)))

async function connect(port: number, endpoint: Partial<SmtpEndpoint> = {}) {
  return smtpAccount({
    endpoint: {
      destination: await guard.resolve({ host: '127.0.0.1', port, kind: 'smtp' }),
      security: 'none',
      clientName: '[127.0.0.1]',
      ...endpoint,
    },
    login: LOGIN,
    signal: new AbortController().signal,
  })
}

async function send(
  { port }: { port: number },
  given: { to?: string[]; content?: OutgoingContent; envelopeId?: string } = {},
) {
  const { to = ['one@sink.test', 'two@sink.test'], content = small(), ...rest } = given
  await using account = await connect(port)
  return await account.sending.send({ ...outgoing(LOGIN.user, to, content), ...rest })
}

function startSink(options: Partial<SmtpSinkOptions> = {}): Promise<SmtpSink> {
  return startSmtpSink({ ...LOGIN, ...options })
}

const drop: SinkAnswer = { does: 'drop' }

describe('a failure of the account or its server', () => {
  test.each<[SinkStep, SinkAnswer, string]>([
    ['connect', '421 4.3.2 closing', 'unavailable'],
    ['connect', '421 4.7.0 too many connections', 'throttled'],
    ['connect', '554 5.7.1 not you', 'unavailable'],
    ['connect', '354 go on', 'unavailable'],
    ['connect', drop, 'unavailable'],
    ['ehlo', '421 4.3.2 closing', 'unavailable'],
    ['ehlo', '354 go on', 'unavailable'],
    ['ehlo', drop, 'unavailable'],
    ['auth', '535 5.7.8 no', 'login_failed'],
    ['auth', '454 4.7.0 later', 'unavailable'],
    ['auth', drop, 'unavailable'],
    ['mail', '421 4.7.0 slow down', 'throttled'],
    ['mail', '451 4.7.1 slow down', 'throttled'],
    ['mail', '530 5.7.0 log in', 'login_failed'],
    ['mail', '354 go on', 'unavailable'],
    ['mail', drop, 'unavailable'],
    ['rcpt', '421 4.7.0 slow down', 'throttled'],
    ['rcpt', '354 go on', 'unavailable'],
    ['rcpt', drop, 'unavailable'],
    ['data', '421 4.3.2 closing', 'unavailable'],
    ['data', drop, 'unavailable'],
    ['data', '250 what', 'unavailable'],
    ['dot', '421 4.3.2 closing', 'unavailable'],
    ['dot', '421 4.7.0 slow down', 'throttled'],
  ])('at %s, %j is a failure before acceptance: %s', async (step, answer, kind) => {
    await using sink = await startSink()
    sink.behave = moment => (moment.step === step ? answer : null)

    await expect(send(sink)).rejects.toMatchObject({ kind, isBeforeAcceptance: true })
    expect(await sink.accepted()).toEqual([])
  })
})

describe('a failure of the message', () => {
  test.each<[SinkStep, string, object]>([
    ['mail', '450 4.2.1 later', { of: 'message', isPermanent: false, status: '4.2.1' }],
    ['mail', '550 5.7.1 not from you', { of: 'message', isPermanent: true, isTooLarge: false }],
    ['mail', '552 5.3.4 too large', { of: 'message', isPermanent: true, isTooLarge: true }],
    ['rcpt', '552 5.2.2 mailbox full', { of: 'recipient', isPermanent: true, isTooLarge: false }],
    ['rcpt', '450 later', { of: 'recipient', isPermanent: false, status: '4.0.0', message: '450 later' }],
    ['data', '451 4.3.0 later', { of: 'message', isPermanent: false }],
    ['data', '554 5.5.0 never', { of: 'message', isPermanent: true }],
    ['dot', '451 4.4.1 later', { of: 'message', isPermanent: false }],
    ['dot', '550 5.6.0 never', { of: 'message', isPermanent: true, isTooLarge: false }],
    ['dot', '552 too much', { of: 'message', isPermanent: true, isTooLarge: true, status: '5.0.0' }],
  ])('at %s, %j refuses it for every recipient', async (step, answer, refusal) => {
    await using sink = await startSink()
    sink.behave = moment => (moment.step === step ? answer : null)

    const { recipients } = await send(sink)

    expect(recipients.map(({ address }) => address)).toEqual(['one@sink.test', 'two@sink.test'])
    for (const one of recipients) expect(one.refusal).toMatchObject(refusal)
    expect(await sink.accepted()).toEqual([])
  })

  test('keeps the reply to a recipient when the message is refused later', async () => {
    await using sink = await startSink()
    sink.behave = ({ step, argument }) =>
      step === 'dot' ? '451 4.3.0 later' : argument === 'one@sink.test' ? '550 5.1.1 unknown' : null

    const { recipients } = await send(sink)

    expect(recipients.map(({ refusal }) => refusal?.status)).toEqual(['5.1.1', '4.3.0'])
  })

  test.each<[SinkAnswer]>([[drop], ['421 4.3.2 closing'], ['503 5.5.1 MAIL first']])(
    'keeps a final refusal of the sender if the recipients are answered with %j',
    async answer => {
      await using sink = await startSink()
      sink.behave = ({ step }) => {
        if (step === 'mail') return '550 5.7.1 not from you'
        return step === 'rcpt' ? answer : null
      }

      const { recipients } = await send(sink)

      for (const { refusal } of recipients)
        expect(refusal).toMatchObject({ of: 'message', isPermanent: true, status: '5.7.1' })
    },
  )

  test.each([
    ['550 5.5.3 too many recipients', false],
    ['552 too many recipients', false],
    ['452 4.5.3 too many recipients', false],
    ['552 5.2.2 mailbox full', true],
  ])('after a recipient who was accepted, %j counts as final: %s', async (answer, isPermanent) => {
    await using sink = await startSink()
    sink.behave = ({ argument }) => (argument === 'two@sink.test' ? answer : null)

    const { recipients } = await send(sink)

    expect(recipients.map(({ refusal }) => refusal && refusal.isPermanent)).toEqual([null, isPermanent])
    expect((await sink.accepted()).map(({ to }) => to)).toEqual([['one@sink.test']])
  })

  test.each(['571 5.7.1 refused', '569 refused'])('understands the unusual code of %j', async answer => {
    await using sink = await startSink()
    sink.behave = ({ step }) => (step === 'dot' ? answer : null)

    const { recipients } = await send(sink)

    for (const { refusal } of recipients) expect(refusal).toMatchObject({ of: 'message', isPermanent: true })
  })

  test('counts a connection that is lost in the content as a temporary refusal of this message', async () => {
    await using sink = await startSink()
    sink.behave = ({ step }) => (step === 'content' ? drop : null)

    const { recipients } = await send(sink, { content: large() })

    for (const { refusal } of recipients)
      expect(refusal).toMatchObject({ of: 'message', isPermanent: false, status: '4.4.2' })
  })

  test('takes an answer that comes before the dot for a refusal, never for acceptance', async () => {
    await using sink = await startSink()
    sink.behave = ({ step }) => (step === 'content' ? '552 5.3.4 enough' : null)
    const { recipients } = await send(sink, { content: large() })
    for (const { refusal } of recipients) expect(refusal).toMatchObject({ isTooLarge: true, of: 'message' })

    sink.behave = ({ step }) => (step === 'content' ? '250 2.0.0 all is well' : null)
    await expect(send(sink, { content: large() })).rejects.toMatchObject({ isBeforeAcceptance: true })
    expect(await sink.accepted()).toEqual([])
  })
})

describe('an unknown outcome', () => {
  afterEach(() => void vi.useRealTimers())

  test.each<[SinkAnswer, number]>([
    [drop, 0],
    [{ does: 'accept_and_drop' }, 1],
    ['nonsense', 0],
    ['354 go on', 0],
    [{ does: 'pour', text: 'x' }, 0],
  ])('follows the dot with %j', async (answer, acceptedCount) => {
    await using sink = await startSink()
    sink.behave = ({ step }) => (step === 'dot' ? answer : null)

    await expect(send(sink)).rejects.toMatchObject({ kind: 'unavailable', isBeforeAcceptance: false })
    expect(await sink.accepted()).toHaveLength(acceptedCount)
    expect(sink.poured).toBeLessThan(POURED_BYTES_MAX)
  })

  test('comes only after ten minutes of silence', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await using sink = await startSink()
    const reached = Promise.withResolvers<void>()
    sink.behave = ({ step }) => {
      if (step !== 'dot') return null
      reached.resolve()
      return { does: 'silence' }
    }
    let end: unknown = null
    const account = await connect(sink.port)
    const sent = account.sending.send(outgoing(LOGIN.user, ['one@sink.test'], small())).catch(error => {
      end = error
    })
    await reached.promise
    await vi.advanceTimersByTimeAsync(599_000)
    expect(end).toBe(null)
    await vi.advanceTimersByTimeAsync(2_000)
    await sent
    expect(end).toMatchObject({ isBeforeAcceptance: false })
    vi.useRealTimers()
    await account[Symbol.asyncDispose]()
  })
})

describe('a hostile server', () => {
  test.each<[SinkStep, string]>([
    ['mail', '250-endless\r\n'],
    ['rcpt', 'x'],
    ['data', '354 twice\r\n'],
    ['data', '354-endless\r\n'],
    ['content', '\r\n'],
  ])('that pours at %s costs little', async (step, text) => {
    await using sink = await startSink()
    sink.behave = moment => (moment.step === step ? { does: 'pour', text } : null)

    const end = await send(sink, { content: large() }).catch((error: unknown) => error)

    // In the middle of the content it counts as a refusal of the message.
    const refused = { recipients: [{ refusal: { isPermanent: false } }, { refusal: { isPermanent: false } }] }
    expect(end).toMatchObject('recipients' in Object(end) ? refused : { isBeforeAcceptance: true })
    await waitUntil('the end of the connection', async () => sink.openCount === 0)
    expect(sink.poured).toBeLessThan(POURED_BYTES_MAX)
  })

  test('that answers twice gets no more commands, so that no answer counts for another message', async () => {
    await using sink = await startSink()
    sink.behave = ({ step }) => (step === 'dot' ? '250 2.0.0 ok\r\n250 2.0.0 ok' : null)
    await using account = await connect(sink.port)
    const message = outgoing(LOGIN.user, ['one@sink.test'], small())
    await account.sending.send(message)
    await waitUntil('the end of the connection', async () => !account.isOpen)
    await expect(account.sending.send(message)).rejects.toMatchObject({ isBeforeAcceptance: true })
    expect(await sink.accepted()).toHaveLength(1)
  })

  test('has its words shown printable and cut, without the secrets that it repeats', async () => {
    await using sink = await startSink()
    const encoded = Buffer.from(`\0${LOGIN.user}\0${LOGIN.password}`).toString('base64')
    sink.behave = ({ step }) =>
      step === 'auth' ? `535 ${LOGIN.password} \u001b[2J ${encoded} ${'y'.repeat(1000)}` : null

    const failure = await send(sink).catch((error: Error) => error)

    expect(failure).toMatchObject({ kind: 'login_failed' })
    const { message } = failure as Error
    expect(message).not.toContain(LOGIN.password)
    expect(message).not.toContain(encoded.slice(0, 20))
    expect(message).toMatch(/^[\P{C}]{50,250}$/u)
  })
})

describe('TLS', () => {
  let folder: string
  let ca: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'waxwing-smtp-'))
    ca = await makeCertificates(folder)
  })
  afterAll(() => rm(folder, { recursive: true }))

  test.each(['starttls', 'tls'] as const)('sends by %s under a trusted authority only', async security => {
    await using sink = await startSink({ certificates: folder, isImplicitTls: security === 'tls' })
    await expect(connect(sink.port, { security })).rejects.toMatchObject({
      message: expect.stringMatching(/^No secure connection/),
      isBeforeAcceptance: true,
    })

    await using account = await connect(sink.port, { security, authorities: trustAlso(ca) })
    await account.sending.send(outgoing(LOGIN.user, ['one@sink.test'], small()))

    expect(await sink.accepted()).toHaveLength(1)
    expect(sink.commands.filter(line => line.startsWith('AUTH'))).toHaveLength(1)
  })

  test('sends nothing more to a server that lost its STARTTLS', async () => {
    await using sink = await startSink()
    await expect(connect(sink.port, { security: 'starttls' })).rejects.toMatchObject({ kind: 'unsupported' })
    expect(sink.commands.filter(line => !line.startsWith('EHLO'))).toEqual([])
  })

  test.each(['220 go\r\n250-evil\r\n250 AUTH PLAIN', '220 go\r\n250-evil'])(
    'ends a connection with bytes before the handshake that pass for an answer after it: %j',
    async answer => {
      await using sink = await startSink({ certificates: folder })
      sink.behave = ({ step }) => (step === 'starttls' ? answer : null)

      const connected = connect(sink.port, { security: 'starttls', authorities: trustAlso(ca) })

      await expect(connected).rejects.toMatchObject({ isBeforeAcceptance: true })
      expect(sink.commands.filter(line => line.startsWith('AUTH'))).toEqual([])
    },
  )
})

describe('a session', () => {
  const grün = { ...contentOf(letterOf('8bit', `grün${CRLF}`)) }

  test('uses each extension that is offered', async () => {
    await using sink = await startSink()
    await send(sink, { to: ['one@sink.test', 'grün@sink.test'], content: grün, envelopeId: 'a+b=c' })

    const [{ mailParameters, rcptParameters, to } = { mailParameters: [], rcptParameters: [], to: [] }] =
      await sink.accepted()
    expect(mailParameters).toEqual([
      `SIZE=${grün.byteLength}`,
      'BODY=8BITMIME',
      'SMTPUTF8',
      'RET=HDRS',
      'ENVID=a+2Bb+3Dc',
    ])
    expect(to).toEqual(['one@sink.test', 'grün@sink.test'])
    expect(rcptParameters).toEqual([
      ['NOTIFY=FAILURE,DELAY', 'ORCPT=rfc822;one@sink.test'],
      ['NOTIFY=FAILURE,DELAY'],
    ])
    expect(sink.commands[0]).toBe('EHLO [127.0.0.1]')
  })

  test('uses none that is not offered, and refuses only the recipient that needs one', async () => {
    await using sink = await startSink({ extensions: [] })
    const { recipients } = await send(sink, { to: ['grün@sink.test', 'one@sink.test'], content: grün })

    expect(recipients.map(({ refusal }) => refusal?.status ?? null)).toEqual(['5.6.7', null])
    const [message] = await sink.accepted()
    expect(message).toMatchObject({ to: ['one@sink.test'], mailParameters: [], rcptParameters: [[]] })
  })

  test('greets a server without EHLO by HELO', async () => {
    await using sink = await startSmtpSink()
    sink.behave = ({ step, argument }) => {
      if (step === 'ehlo') return '502 5.5.1 what?'
      return argument.startsWith('HELO') ? '250 old' : null
    }
    await send(sink)
    expect(await sink.accepted()).toHaveLength(1)
  })

  test('logs in by LOGIN where PLAIN is not offered', async () => {
    await using sink = await startSink()
    sink.behave = ({ step }) => (step === 'ehlo' ? '250-sink.test\r\n250 AUTH LOGIN XOAUTH2' : null)
    await send(sink)
    expect(await sink.accepted()).toHaveLength(1)
    expect(sink.commands).toContain('AUTH LOGIN')
  })

  test('sends sender and recipients in one go if PIPELINING is offered', async () => {
    let received = ''
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.write('220 ready\r\n')
      socket.on('data', chunk => {
        received += chunk.toString()
        if (received.startsWith('EHLO') && received.endsWith('\r\n') && !received.includes('MAIL'))
          socket.write('250-slow\r\n250 PIPELINING\r\n')
        // Answers to nothing before it has seen the last recipient.
        if (received.includes('two@sink.test>\r\n')) socket.end('250 ok\r\n550 no\r\n550 no\r\n')
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { recipients } = await send({ port: (server.address() as AddressInfo).port })
    expect(recipients.map(({ refusal }) => refusal?.message)).toEqual(['550 no', '550 no'])
    server.close()
  })
})
