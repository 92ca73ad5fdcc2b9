import { isIP } from 'node:net'
import type { SecureContext } from 'node:tls'
import { unlessAborted } from '../../processes/nudge.ts'
import type { RedisAddress } from '../../kit/redis-url.ts'

const CONNECT_SECONDS = 2
/** Commands that wait for an answer; further ones fail at once. */
const COMMANDS_MAX = 10_000

/** The server answered, and will not serve us: a mistake in the settings. */
export class RedisRefused extends Error {
  override name = 'RedisRefused'

  constructor({ host, port }: RedisAddress, cause: unknown) {
    const said = cause instanceof Error ? cause.message : String(cause)
    super(
      `The server of REDIS_URL, ${host}:${port}, cannot be used: ${said} Check the user, password and database of ` +
        'REDIS_URL, and for rediss:// the certificate of the server (WAXWING_CA_FILE).',
      { cause },
    )
  }
}

export interface RedisOptions {
  address: RedisAddress
  /** The authorities to trust with `rediss://`; the public ones by default. */
  authorities: SecureContext | undefined
}

/** One connection. It is never opened again: what is lost stays lost. */
export interface RedisConnection extends Disposable {
  /** Rejects with the server's error, or when the connection is lost. */
  send(command: readonly string[]): Promise<unknown>
  /** Aborts when the connection is lost. */
  lost: AbortSignal
}

/** Connects and signs in, within 2 seconds. Rejects with `RedisRefused` if the settings must be wrong. */
export async function connectRedis(
  { address, authorities }: RedisOptions,
  signal: AbortSignal,
): Promise<RedisConnection> {
  const { host, port, isTls, username, password, database } = address
  const common = { host, port, connectTimeout: CONNECT_SECONDS * 1000, reconnectStrategy: false as const }
  const tls = {
    tls: true as const,
    secureContext: authorities,
    ...(isIP(host) === 0 && { servername: host }),
  }
  // Loaded here, since most installations use no Redis, and it is a fifth of all modules of the service.
  const { createClient } = await import('@redis/client')
  const client = createClient({
    socket: isTls ? { ...common, ...tls } : common,
    username,
    password,
    database,
    RESP: 2,
    // Commands that not every server has.
    disableClientInfo: true,
    maintNotifications: 'disabled',
    disableOfflineQueue: true,
    commandsQueueMaxLength: COMMANDS_MAX,
    // The caller has its own.
    commandOptions: { timeout: 0 },
  })
  const lost = new AbortController()
  client.on('error', (error: unknown) => lost.abort(error))
  client.on('end', () => lost.abort(new Error('The connection was closed')))
  const connecting = client.connect().then(() => client.sendCommand(['PING']))
  try {
    const late = AbortSignal.timeout(CONNECT_SECONDS * 1000)
    await unlessAborted(AbortSignal.any([signal, late]), connecting)
  } catch (error) {
    connecting.then(
      () => client.destroy(),
      () => client.destroy(),
    )
    throw isRefusal(error) ? new RedisRefused(address, error) : error
  }
  return {
    send: command => client.sendCommand([...command]),
    lost: lost.signal,
    [Symbol.dispose]: () => client.destroy(),
  }
}

/** An answer to signing in, or a certificate that is not trusted, which no waiting mends. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (/^(?:WRONGPASS|NOAUTH|NOPERM)\b|DB index|without any password/.test(error.message)) return true
  const { code } = error as NodeJS.ErrnoException
  return code !== undefined && /^(?:ERR_TLS_|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_SSL_)/.test(code)
}
