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
import type { MailDoor } from '../sync/keeper.ts'
import { FenceLost, type OwnedAccount } from '../sync/ownership.ts'

export interface OpenMailOptions {
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

/** How an account's mail is reached. The returned function reads it anew for each connection: a change counts at once. */
export function openMail(options: OpenMailOptions, owned: OwnedAccount): () => Promise<MailDoor> {
  // Over all connections of the account: what killed the last one must not kill each.
  const suspicions = new Suspicions()
  return () => openDoor(options, owned, suspicions)
}

/** How an account's mail is reached now. */
export async function openDoor(
  options: OpenMailOptions,
  owned: Pick<OwnedAccount, 'id' | 'tenantId'>,
  suspicions: Suspicions,
): Promise<MailDoor> {
  const { db, accountKeys, guard, allowPlaintext, authorities, keepAliveSeconds, answerSeconds, now } =
    options
  const account = await findAccountView(db, owned.tenantId, owned.id)
  if (!account) throw new FenceLost(owned.id)
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
