import { isIP, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { connectTo } from '../kit/egress/connect.ts'
import type { Destination } from '../kit/egress/guard.ts'
import type { MailServer } from './mail-server.ts'
import { ProviderFailure } from './failure.ts'

/**
 * Some servers delay their greeting, and penalise clients that send first, so the watch begins when nearly all of them
 * have greeted. Together with the times below, it ends within the 20 seconds of a check.
 */
const GREETING_SECONDS = 10
const HANDSHAKE_SECONDS = 5
/** A port that is one for TLS and for plain text greets when it has waited for a handshake. */
const LATE_GREETING_SECONDS = 3
/** OpenSSL's codes if the other end uses TLS: its alerts, and the errors for a version that is too old. */
const OF_TLS = /_ALERT_|^ERR_SSL_(?:UNSUPPORTED_PROTOCOL|TLSV1_UNRECOGNIZED_NAME)$/

export interface GreetingWatch extends Disposable {
  /** Aborted, with a `ProviderFailure` as its reason, once the server turns out to wait for a TLS handshake. */
  readonly signal: AbortSignal
  /** Ends the watch. */
  greeted(): void
}

/**
 * Watches for a server that is expected to greet in plain text, but waits for a TLS handshake: it sends nothing until
 * then, so a client would wait in vain. If no greeting comes, a second connection tries the handshake.
 */
export function watchGreeting(destination: Destination, security: MailServer['security']): GreetingWatch {
  const over = new AbortController()
  const found = new AbortController()
  const look = async () => {
    if (!(await speaksTls(destination, over.signal))) return
    await sleep(LATE_GREETING_SECONDS * 1000, undefined, { signal: over.signal }).catch(() => {})
    if (over.signal.aborted) return
    const text = `The server speaks TLS from the start on port ${destination.port}. Use security tls, or another port.`
    found.abort(new ProviderFailure('unsupported', text))
  }
  const timer = security === 'tls' ? undefined : setTimeout(() => void look(), GREETING_SECONDS * 1000)
  const end = () => {
    clearTimeout(timer)
    over.abort()
  }
  return { signal: found.signal, greeted: end, [Symbol.dispose]: end }
}

async function speaksTls(destination: Destination, signal: AbortSignal): Promise<boolean> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(HANDSHAKE_SECONDS * 1000)])
  let plain: Socket
  try {
    plain = await connectTo(destination, { timeoutSeconds: HANDSHAKE_SECONDS, signal: limit })
  } catch {
    return false
  }
  const { host } = destination
  // Nothing is sent over this connection, so it does not matter who is at its other end.
  const socket = connectTls({
    socket: plain,
    ...(isIP(host) ? {} : { servername: host }),
    rejectUnauthorized: false,
  })
  const { promise, resolve } = Promise.withResolvers<boolean>()
  socket.once('secureConnect', () => resolve(true))
  socket.on('error', error => resolve(isOfTls(error)))
  socket.once('close', () => resolve(false))
  plain.on('error', () => resolve(false))
  limit.addEventListener('abort', () => resolve(false), { once: true })
  if (limit.aborted) resolve(false)
  const isTls = await promise
  socket.destroy()
  plain.destroy()
  return isTls
}

function isOfTls(error: Error): boolean {
  return 'code' in error && OF_TLS.test(String(error.code))
}
