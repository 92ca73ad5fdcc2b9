import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { connectTo } from '../../kit/egress/connect.ts'
import type { Destination } from '../../kit/egress/guard.ts'
import { ProviderFailure } from '../failure.ts'
import { type Extensions, NO_EXTENSIONS, readExtensions } from './extensions.ts'
import { beforeAcceptance, sessionFailure, toFailure } from './failure.ts'
import { logIn, type SmtpLogin } from './login.ts'
import { NotSmtp } from './reply.ts'
import { SmtpWire, tooSlow } from './wire.ts'

/** The address of an SMTP server, after the egress guard resolved its name. */
export interface SmtpEndpoint {
  destination: Destination
  security: 'tls' | 'starttls' | 'none'
  /** The authorities to trust; the public ones by default. */
  authorities?: SecureContext | undefined
  /** The name in EHLO, see `clientName`. */
  clientName: string
  /** Called when the server has greeted. */
  onGreeting?: () => void
}

export interface SmtpSession {
  wire: SmtpWire
  extensions: Extensions
}

/**
 * Connects, greets, secures and logs in (unless `login` is null), all within `seconds`. TLS is verified and at least
 * 1.2; with `starttls`, nothing but EHLO is sent before the handshake. Throws `ProviderFailure`: nothing was accepted.
 */
export async function openSession(
  endpoint: SmtpEndpoint,
  login: SmtpLogin | null,
  seconds: number,
  signal?: AbortSignal,
): Promise<SmtpSession> {
  const late = tooSlow(seconds)
  const overtime = AbortSignal.timeout(seconds * 1000)
  const ending = signal ? AbortSignal.any([signal, overtime]) : overtime
  const reason = () => {
    if (!signal?.aborted) return late
    const { reason: cause }: { reason: unknown } = signal
    return cause instanceof ProviderFailure
      ? cause
      : new ProviderFailure('unavailable', 'It was given up.', { cause })
  }
  let wire: SmtpWire | null = null
  const end = () => wire?.destroy(reason())
  ending.addEventListener('abort', end, { once: true })
  try {
    wire = new SmtpWire(await connect(endpoint.destination, seconds, ending))
    return { wire, extensions: await begin(wire, endpoint, login, seconds) }
  } catch (error) {
    const failure = ending.aborted ? reason() : toFailure(error)
    wire?.destroy(failure)
    throw beforeAcceptance(failure)
  } finally {
    ending.removeEventListener('abort', end)
  }
}

function connect(destination: Destination, seconds: number, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted()
  return connectTo(destination, { timeoutSeconds: seconds, signal })
}

async function begin(
  wire: SmtpWire,
  { destination: { host, port }, security, authorities, clientName, onGreeting }: SmtpEndpoint,
  login: SmtpLogin | null,
  seconds: number,
): Promise<Extensions> {
  if (security === 'tls') await wire.secure(host, authorities, seconds)
  await readGreeting(wire, seconds)
  onGreeting?.()
  let extensions = await greet(wire, clientName, seconds)
  if (security === 'starttls') {
    if (!extensions.hasStartTls)
      throw new ProviderFailure('unsupported', 'The server does not offer STARTTLS.')
    const reply = await wire.command('STARTTLS', seconds)
    if (reply.code !== 220) throw sessionFailure('The server refused STARTTLS', reply)
    await wire.secure(host, authorities, seconds)
    // RFC 3207 section 4.2: extensions from before the handshake are discarded.
    extensions = await greet(wire, clientName, seconds)
  }
  if (login) await logIn(wire, login, extensions.authMechanisms, { host, port, seconds })
  return extensions
}

async function readGreeting(wire: SmtpWire, seconds: number): Promise<void> {
  const greeting = await wire.read(seconds).catch((error: unknown) => {
    // The first words of another kind of service must not be shown.
    if (!(error instanceof ProviderFailure && error.cause instanceof NotSmtp)) throw error
    throw new ProviderFailure(
      'unsupported',
      'This host and port do not answer as an SMTP server. Check both.',
      { cause: error },
    )
  })
  if (greeting.code !== 220) throw sessionFailure('The server refused the connection', greeting)
}

async function greet(wire: SmtpWire, clientName: string, seconds: number): Promise<Extensions> {
  const reply = await wire.command(`EHLO ${clientName}`, seconds)
  if (reply.code === 250) return readExtensions(reply)
  // RFC 5321 section 3.2: a server without EHLO has no extensions.
  if (reply.code < 500) throw sessionFailure('The server refused the connection', reply)
  const old = await wire.command(`HELO ${clientName}`, seconds)
  if (old.code !== 250) throw sessionFailure('The server refused the connection', old)
  return NO_EXTENSIONS
}
