import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server'
import type { World } from '../world/world.ts'

const MESSAGE_BYTES_MAX = 50 * 1024 * 1024
const RECIPIENTS_MAX = 500
const SESSIONS_MAX = 100

type Answer = (error?: Error | null, reply?: string) => void

export interface SmtpDoor extends AsyncDisposable {
  readonly port: number
}

/**
 * Takes mail from outside for the users of the sandbox (RFC 5321), and for nobody else. Nobody can log in here: who sends
 * as a user does it by the provider's API.
 */
export async function openSmtpDoor(current: () => World, port: number, host: string): Promise<SmtpDoor> {
  async function accept(stream: SMTPServerDataStream, recipients: readonly string[], done: Answer) {
    try {
      const message = await buffer(stream)
      if (stream.sizeExceeded) return done(refusal(552, '5.3.4 The message is too large.'))
      const world = current()
      for (const address of recipients) {
        const user = world.users.find(address)
        if (user) world.post.deliver(user, { message, from: null })
      }
      return done(null, '2.0.0 Delivered')
    } catch {
      return done(refusal(451, '4.3.0 The sandbox could not deliver the message.'))
    }
  }
  const server = new SMTPServer({
    name: 'sandbox.test',
    banner: 'Waxwing sandbox',
    size: MESSAGE_BYTES_MAX,
    maxClients: SESSIONS_MAX,
    disableReverseLookup: true,
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    onAuth: (_auth, _session, done) => done(refusal(535, '5.7.8 Nobody can log in to the sandbox.')),
    onRcptTo({ address }, session, done) {
      const user = current().users.find(address)
      if (!user || user.suspended) return done(refusal(550, `5.1.1 There is no user ${address} here.`))
      if (session.envelope.rcptTo.length >= RECIPIENTS_MAX)
        return done(refusal(452, '4.5.3 Too many recipients.'))
      return done()
    },
    onData(stream, session, done) {
      const recipients = session.envelope.rcptTo.map(({ address }) => address)
      void accept(stream, recipients, done)
    },
  })
  // Errors of single connections, such as one that was cut, are of no interest.
  server.on('error', () => {})
  server.listen(port, host)
  await once(server.server, 'listening')
  return {
    port: (server.server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise<void>(resolve => void server.close(() => resolve())),
  }
}

function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode })
}
