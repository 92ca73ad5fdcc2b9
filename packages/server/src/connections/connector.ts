import type { SecureContext } from 'node:tls'
import type { Db } from '../database/pool.ts'
import { effectiveSettings } from '../features/accounts/accounts/rules.ts'
import type { AccountKeys } from '../features/accounts/accounts/secrets.ts'
import { findAccountView } from '../features/accounts/accounts/store.ts'
import type { EgressGuard } from '../kit/egress/guard.ts'
import { imapMail } from '../providers/imap/mail.ts'
import { Suspicions } from '../providers/imap/suspicions.ts'
import { ProviderFailure } from '../providers/failure.ts'
import { resolveServer } from '../providers/resolve-server.ts'
import type { MailProvider } from '../providers/mail.ts'

/** How an account is reached, with what the account has now. */
export interface Connector {
  host: string
  /** null: the full history. */
  syncWindowDays: number | null
  /** The signal ends the connection, whatever is being done over it. */
  connect(signal: AbortSignal): Promise<MailProvider>
}

export interface ConnectorOptions {
  db: Db
  accountKeys: AccountKeys
  guard: EgressGuard
  /** Whether the operator lets passwords travel without TLS. */
  allowPlaintext: boolean
  /** The authorities to trust; the public ones by default. */
  authorities?: SecureContext | undefined
  /** How often a waiting connection is asked for a sign of life. */
  keepAliveSeconds?: number
  /** How soon it must come. */
  answerSeconds?: number
  /** Milliseconds since 1970, by which flags are compared anew on servers that do not tell of their changes. */
  now?: () => number
}

interface ConnectedAccount {
  id: string
  tenantId: string
}

/** Finds an account's connector again before each connection, so that a change of the account counts at once. */
export function connectorOf(options: ConnectorOptions, account: ConnectedAccount): () => Promise<Connector> {
  // Over all connections of the account: what killed the last one must not kill each.
  const suspicions = new Suspicions()
  return () => findConnector(options, account, suspicions)
}

/** Rejects with `not_found` where the account was deleted. */
export async function findConnector(
  options: ConnectorOptions,
  { id, tenantId }: ConnectedAccount,
  suspicions: Suspicions,
): Promise<Connector> {
  const { db, accountKeys, guard, allowPlaintext, authorities, keepAliveSeconds, answerSeconds, now } =
    options
  const account = await findAccountView(db, tenantId, id)
  if (!account) throw new ProviderFailure('not_found', 'The account was deleted.')
  const server = account.imap?.imap
  if (!server) throw new ProviderFailure('unsupported', `accounts of ${account.provider} cannot be followed`)
  if (server.security === 'none' && !allowPlaintext) {
    throw new ProviderFailure('not_allowed', 'connections without TLS are not allowed here')
  }
  return {
    host: server.host,
    syncWindowDays: effectiveSettings(account.tenant_settings, account).syncWindowDays,
    async connect(signal) {
      const password = await accountKeys.findSecret(db, account, 'imap_password')
      if (!password) throw new ProviderFailure('login_failed', 'no password is stored for this account')
      const { host, port, addresses } = await resolveServer(guard, 'imap', server)
      return imapMail({
        endpoint: {
          addresses,
          servername: host,
          port,
          security: server.security,
          authorities,
        },
        login: { user: server.user, password: password.reveal() },
        suspicions,
        signal,
        ...(keepAliveSeconds !== undefined && { keepAliveSeconds }),
        ...(answerSeconds !== undefined && { answerSeconds }),
        ...(now && { now }),
      })
    },
  }
}
