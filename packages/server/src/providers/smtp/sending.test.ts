import { describe } from 'vitest'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { egressGuard } from '../../kit/egress/guard.ts'
import { type DovecotServer, startDovecot } from '../../../test/servers/dovecot.ts'
import { attributesOf, bytesOf } from '../../../test/servers/imap-values.ts'
import type { TestUser } from '../../../test/servers/mail-server.ts'
import { type PostfixServer, startPostfix } from '../../../test/servers/postfix.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { GOOD_EXTENSIONS, startSmtpSink } from '../../../test/servers/smtp-sink.ts'
import { openWitness } from '../../../test/servers/witness.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { describeEnvelopes, describeSending, type EnvelopeArrangement } from '../conformance/sending.ts'
import { smtpAccount } from './sending.ts'

const guard = egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) })
const MESSAGE_BYTES_MAX = 100_000

async function connect(port: number, login: { user: string; password: string }) {
  return smtpAccount({
    endpoint: {
      destination: await guard.resolve({ host: '127.0.0.1', port, kind: 'smtp' }),
      security: 'none',
      clientName: '[127.0.0.1]',
    },
    login,
    signal: new AbortController().signal,
  })
}

async function readMail(dovecot: DovecotServer, user: TestUser): Promise<string[]> {
  await using witness = await openWitness(dovecot, user)
  await witness.command('SELECT INBOX')
  const { untagged } = await witness.command('UID FETCH 1:* (BODY.PEEK[])')
  return untagged
    .filter(([, kind]) => kind === 'FETCH')
    .map(([, , attributes]) => bytesOf(attributesOf(attributes).get('BODY[]'))?.toString('latin1') ?? '')
}

async function withPostfix(dovecot: DovecotServer, postfix: PostfixServer): Promise<EnvelopeArrangement> {
  const [sender, one, other] = await Promise.all([dovecot.addUser(), dovecot.addUser(), dovecot.addUser()])
  const users = new Map([one, other].map(user => [user.email, user]))
  return {
    from: sender.email,
    recipients: [one.email, other.email],
    unknown: `nobody@${dovecot.domain}`,
    greylisted: `greylist@${dovecot.domain}`,
    messageBytesMax: MESSAGE_BYTES_MAX,
    connect: () => connect(postfix.port, sender),
    arrived: (address, count) =>
      waitUntil('the mail', async () => {
        const mail = await readMail(dovecot, users.get(address)!)
        return mail.length >= count && mail
      }),
    [Symbol.asyncDispose]: async () => {},
  }
}

async function withSink(extensions: readonly string[]): Promise<EnvelopeArrangement> {
  const login = { user: 'ada@sink.test', password: 'secret' }
  const sink = await startSmtpSink({ ...login, extensions })
  sink.behave = ({ step, argument }) => {
    if (step !== 'rcpt') return null
    if (argument.startsWith('nobody@')) return '550 5.1.1 user unknown'
    return argument.startsWith('greylist@') ? '450 4.2.0 try later' : null
  }
  return {
    from: login.user,
    recipients: ['one@sink.test', 'other@sink.test'],
    unknown: 'nobody@sink.test',
    greylisted: 'greylist@sink.test',
    messageBytesMax: MESSAGE_BYTES_MAX,
    connect: () => connect(sink.port, login),
    arrived: (address, count) =>
      waitUntil('the mail', async () => {
        const mail = (await sink.accepted()).filter(({ to }) => to.includes(address))
        return mail.length >= count && mail.map(({ content }) => content)
      }),
    [Symbol.asyncDispose]: () => sink[Symbol.asyncDispose](),
  }
}

describe('by SMTP to Postfix', () => {
  const dovecot = useServer(() => startDovecot())
  const postfix = useServer(() => startPostfix(dovecot(), { messageBytesMax: MESSAGE_BYTES_MAX }))
  describeSending(() => withPostfix(dovecot(), postfix()))
  describeEnvelopes(() => withPostfix(dovecot(), postfix()))
})

describe.each([
  [
    'with every extension',
    GOOD_EXTENSIONS.map(word => word.replace(/^SIZE .*/, `SIZE ${MESSAGE_BYTES_MAX}`)),
  ],
  ['with SIZE alone', [`SIZE ${MESSAGE_BYTES_MAX}`]],
])('by SMTP to a server %s', (_, extensions) => {
  describeSending(() => withSink(extensions))
  describeEnvelopes(() => withSink(extensions))
})
