import type { Socket } from 'node:net'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { connectTo } from '../../kit/egress/connect.ts'
import type { Destination } from '../../kit/egress/guard.ts'
import type { MailServer } from '../sign-in.ts'
import { ProviderFailure } from '../failure.ts'
import { resolveServer } from '../resolve-server.ts'
import type { CheckOptions } from '../server-check.ts'
import { toFailure } from './failure.ts'

const CHECK_SECONDS = 20
/** Maximum of everything that a server sends until the login is done. */
const RECEIVED_BYTES_MAX = 64 * 1024

/** Logs in to an SMTP server; a server that requires no login is only greeted. Throws `ProviderFailure`. */
export async function checkSmtp(options: CheckOptions, server: MailServer, password: string): Promise<void> {
  const destination = await resolveServer(options.guard, 'smtp', server)
  const signal = AbortSignal.timeout(CHECK_SECONDS * 1000)
  let socket: Socket | null = null
  try {
    socket = await connectTo(destination, { timeoutSeconds: CHECK_SECONDS, signal })
    await logIn(openSession(socket, destination, server, options), server.user, password, signal)
  } catch (error) {
    if (!signal.aborted) throw toFailure(error)
    throw new ProviderFailure('unavailable', `The server did not answer within ${CHECK_SECONDS} seconds.`, {
      cause: error,
    })
  } finally {
    socket?.destroy()
  }
}

/** A session over a connected socket, so that nodemailer resolves nothing. */
function openSession(
  socket: Socket,
  { host, port }: Destination,
  { security }: MailServer,
  { authorities }: CheckOptions,
): SMTPConnection {
  return new SMTPConnection({
    connection: socket,
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    tls: {
      host,
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
      ...(authorities && { secureContext: authorities }),
    },
  })
}

async function logIn(
  session: SMTPConnection,
  user: string,
  password: string,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  boundReceived(session, reject)
  session.once('error', reject)
  session.once('end', () => reject(new Error('The server closed the connection')))
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  session.connect(error => {
    if (error) return reject(error)
    if (!session.allowsAuth) return resolve()
    session.login({ credentials: { user, pass: password } }, refused =>
      refused ? reject(refused) : resolve(),
    )
  })
  try {
    await promise
  } finally {
    signal.removeEventListener('abort', abort)
    // Nobody waits for later errors of a session that ends.
    session.on('error', () => {})
    session.close()
  }
}

/**
 * nodemailer limits each answer, but not how many it queues. Its types leave out the method through which all of them
 * pass.
 */
function boundReceived(session: SMTPConnection, refuse: (error: ProviderFailure) => void): void {
  const receiver = session as unknown as { _onData(chunk: Buffer): void }
  const onData = receiver._onData.bind(session)
  let received = 0
  receiver._onData = chunk => {
    received += chunk.length
    if (received <= RECEIVED_BYTES_MAX) onData(chunk)
    else refuse(new ProviderFailure('unavailable', 'The server sends more than was asked for.'))
  }
}
