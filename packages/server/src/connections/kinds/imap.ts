import type { SecureContext } from 'node:tls'
import type { Db } from '../../database/pool.ts'
import type { AccountView } from '../../accounts/row.ts'
import { effectiveSettings } from '../../accounts/settings.ts'
import type { AccountKeys, KeyedAccount } from '../../accounts/secrets.ts'
import type { EgressGuard } from '../../kit/egress/guard.ts'
import { SealError } from '../../kit/seal.ts'
import type { ConnectedAccount } from '../../providers/connected-account.ts'
import { ProviderFailure, restate } from '../../providers/failure.ts'
import { imapAccount } from '../../providers/imap/mail.ts'
import { NotifyTrust } from '../../providers/imap/notify-trust.ts'
import { Suspicions } from '../../providers/imap/suspicions.ts'
import type { FileThread } from '../../providers/dav/file-thread.ts'
import { LoginSchemes } from '../../providers/dav/login.ts'
import { smtpAccount } from '../../providers/smtp/sending.ts'
import { resolveServer } from '../../providers/resolve-server.ts'
import type { MailServer } from '../../providers/mail-server.ts'
import type { HostBudget } from '../host-budget.ts'
import { davWay } from './dav.ts'
import type { Kind, Way } from './kind.ts'

export interface ImapOptions {
  db: Db
  accountKeys: AccountKeys
  guard: EgressGuard
  /** Bounds the connections to each IMAP server, whatever they are for. */
  budget: HostBudget
  /** Bounds those to each SMTP server. */
  smtpBudget: HostBudget
  /** Bounds those to each DAV server. */
  davBudget: HostBudget
  davFiles: FileThread
  /** The name that EHLO sends to SMTP servers. */
  clientName: string
  settings: {
    /** Whether the operator lets passwords travel without TLS. */
    allowPlaintext: boolean
  }
  /** The authorities to trust; the public ones by default. */
  authorities?: SecureContext | undefined
  pace?: ImapPace | undefined
}

/** Times of connections to IMAP servers. Tests use shorter ones. */
export interface ImapPace {
  /** How often a waiting connection is asked for a sign of life. */
  keepAliveSeconds?: number
  /** How soon it must come. */
  answerSeconds?: number
  /** How many times longer than usual the time between two passes becomes if a server reports all changes. */
  passFactorMax?: number
  /** Milliseconds since 1970, by which flags are compared again on servers that do not report their changes. */
  now?: () => number
}

/** Accounts that are read by IMAP and send by SMTP, with a password, and may have calendars and contacts by DAV. */
export function imapKind(options: ImapOptions): Kind {
  return {
    endpoints: { mail: 'imap', calendar: 'caldav', contacts: 'carddav' },
    waysTo() {
      // A message that killed the last connection must not kill each.
      const remembered = {
        suspicions: new Suspicions(),
        notifyTrust: new NotifyTrust(options.pace?.passFactorMax),
      }
      const schemes = new LoginSchemes()
      return {
        read(account, half) {
          if (half !== 'mail') return davWay(options, account, { half, schemes })
          const server = account.imap?.imap
          if (!server)
            throw new ProviderFailure(
              'unsupported',
              'This account has no IMAP server, so it cannot be followed.',
            )
          return imapConnector(options, account, server, remembered)
        },
        send(account) {
          const server = account.imap?.smtp
          if (!server)
            throw new ProviderFailure('unsupported', 'This account has no SMTP server, so it only reads.')
          return smtpConnector(options, account, server)
        },
      }
    },
  }
}

/** State of an account that outlasts its connections. */
interface Remembered {
  suspicions: Suspicions
  notifyTrust: NotifyTrust
}

function imapConnector(
  options: ImapOptions,
  account: AccountView,
  server: MailServer,
  remembered: Remembered,
): Way {
  const { budget } = options
  requireEncryption(server, options)
  // The follower of the account keeps the connector, so it does not hold the whole row.
  const { id, tenant_id, data_key } = account
  const keyed = { id, tenant_id, data_key }
  const { syncWindowDays, calendarEnabled: seeksInvitations } = effectiveSettings(
    account.tenant_settings,
    account,
  )
  return {
    host: server.host,
    syncWindowDays,
    isOneAtATime: true,
    acquire: signal => budget.acquire(server.host, signal),
    acquireFree: () => budget.acquireFree(server.host),
    connect: signal =>
      connectImap(options, keyed, server, { ...remembered, seeksInvitations, signal }).catch(blameAccount),
  }
}

function smtpConnector(options: ImapOptions, account: AccountView, server: MailServer): Way {
  requireEncryption(server, options)
  return {
    host: server.host,
    syncWindowDays: null,
    isOneAtATime: true,
    acquire: signal => options.smtpBudget.acquire(server.host, signal),
    connect: signal => connectSmtp(options, account, server, signal).catch(blameAccount),
  }
}

function requireEncryption({ security }: MailServer, { settings }: ImapOptions): void {
  if (security === 'none' && !settings.allowPlaintext)
    throw new ProviderFailure('not_allowed', 'connections without TLS are not allowed here')
}

async function connectImap(
  options: ImapOptions,
  account: KeyedAccount,
  server: MailServer,
  session: Remembered & { seeksInvitations: boolean; signal: AbortSignal },
): Promise<ConnectedAccount> {
  const { db, accountKeys, guard, authorities, pace: { keepAliveSeconds, answerSeconds, now } = {} } = options
  const password = await accountKeys.findSecret(db, account, 'imap_password')
  if (!password) throw new ProviderFailure('login_failed', 'no password is stored for this account')
  const { host, port, addresses } = await resolveServer(guard, 'imap', server)
  return imapAccount({
    endpoint: { addresses, servername: host, port, security: server.security, authorities },
    login: { user: server.user, password: password.reveal() },
    ...session,
    ...(keepAliveSeconds !== undefined && { keepAliveSeconds }),
    ...(answerSeconds !== undefined && { answerSeconds }),
    ...(now && { now }),
  })
}

async function connectSmtp(
  options: ImapOptions,
  account: AccountView,
  server: MailServer,
  signal: AbortSignal,
): Promise<ConnectedAccount> {
  const { db, accountKeys, guard, authorities, clientName } = options
  const password =
    (await accountKeys.findSecret(db, account, 'smtp_password')) ??
    (await accountKeys.findSecret(db, account, 'imap_password'))
  if (!password) throw new ProviderFailure('login_failed', 'no password is stored for this account')
  const destination = await resolveServer(guard, 'smtp', server)
  return smtpAccount({
    endpoint: { destination, security: server.security, authorities, clientName },
    login: { user: server.user, password: password.reveal() },
    signal,
  })
}

/** Once an account is stored, a server that lacks what it needs, or a secret that does not open, is a fault of its setup. */
function blameAccount(error: unknown): never {
  if (error instanceof SealError)
    throw new ProviderFailure('misconfigured', 'The stored password cannot be read.', { cause: error })
  if (!(error instanceof ProviderFailure)) throw error
  const kind = error.kind === 'unsupported' ? 'misconfigured' : error.kind
  // Nothing was asked yet.
  throw restate(error, { kind, isBeforeAcceptance: true })
}
