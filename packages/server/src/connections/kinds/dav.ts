import type { SecureContext } from 'node:tls'
import type { OtherKind } from '../../accounts/halves/kind.ts'
import type { AccountView } from '../../accounts/row.ts'
import type { AccountKeys } from '../../accounts/secrets.ts'
import type { Db } from '../../database/pool.ts'
import type { EgressGuard } from '../../kit/egress/guard.ts'
import { SealError } from '../../kit/seal.ts'
import type { ConnectedAccount } from '../../providers/connected-account.ts'
import { calDavAccount } from '../../providers/dav/caldav.ts'
import { type CardDavOptions, cardDavAccount } from '../../providers/dav/carddav.ts'
import type { LoginSchemes } from '../../providers/dav/login.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import type { ConnectionPermit } from '../connections.ts'
import type { HostBudget } from '../host-budget.ts'
import { type Permits, permittedCalendars, permittedContacts } from './dav-permits.ts'
import type { Way } from './kind.ts'

export interface DavOptions {
  db: Db
  accountKeys: AccountKeys
  guard: EgressGuard
  authorities?: SecureContext | undefined
  /** Bounds the connections to each DAV server. */
  davBudget: HostBudget
  settings: {
    /** Whether the operator lets passwords travel without TLS. */
    allowPlaintext: boolean
  }
}

/** An idle account holds no connection, so it needs no permit. Each use of the server takes one. */
const FREE: ConnectionPermit = { isWanted: false, onWanted: () => {}, [Symbol.dispose]: () => {} }

/** The servers of each kind of data: their URL among the DAV settings, and how their users are reached. */
const SERVERS: Readonly<
  Record<
    OtherKind,
    {
      name: string
      url: 'calendarUrl' | 'contactsUrl'
      connect(options: CardDavOptions, permits: Permits): ConnectedAccount
    }
  >
> = {
  calendar: {
    name: 'CalDAV',
    url: 'calendarUrl',
    connect(options, permits) {
      const connected = calDavAccount(options)
      return withDisposal(connected, { calendars: permittedCalendars(connected.calendars, permits) })
    },
  },
  contacts: {
    name: 'CardDAV',
    url: 'contactsUrl',
    connect(options, permits) {
      const connected = cardDavAccount(options)
      return withDisposal(connected, { contacts: permittedContacts(connected.contacts, permits) })
    },
  },
}

function withDisposal<Offered extends object>(connected: AsyncDisposable, offered: Offered) {
  return { ...offered, [Symbol.asyncDispose]: () => connected[Symbol.asyncDispose]() }
}

/** Leads to the calendars or the contacts of an IMAP account, whose server its DAV settings name. */
export function davWay(
  options: DavOptions,
  account: AccountView,
  { half, schemes }: { half: OtherKind; schemes: LoginSchemes },
): Way {
  const server = SERVERS[half]
  const dav = account.imap?.dav
  const home = URL.parse(dav?.[server.url] ?? '')
  if (!dav || !home) throw new ProviderFailure('unsupported', `This account has no ${server.name} server.`)
  const { db, accountKeys, guard, authorities, davBudget, settings } = options
  if (home.protocol !== 'https:' && !settings.allowPlaintext)
    throw new ProviderFailure('not_allowed', 'Connections without TLS are not allowed here.')
  // The follower of the account keeps the way, so it does not hold the whole row.
  const keyed = { id: account.id, tenant_id: account.tenant_id, data_key: account.data_key }
  const { user } = dav
  const name = dav.auth === 'password' ? 'dav_password' : 'imap_password'
  return {
    host: home.hostname,
    syncWindowDays: null,
    isOneAtATime: false,
    acquire: () => Promise.resolve(FREE),
    async connect(signal) {
      const secret = await accountKeys.findSecret(db, keyed, name).catch(blameAccount)
      if (!secret) throw new ProviderFailure('login_failed', 'No password is stored for this account.')
      const login = { user, password: secret.reveal() }
      const permits = { acquire: (until: AbortSignal) => davBudget.acquire(home.hostname, until), signal }
      return server.connect({ home, login, guard, authorities, schemes, signal }, permits)
    },
  }
}

/** A secret that does not open is a fault of the account's setup. */
function blameAccount(error: unknown): never {
  if (!(error instanceof SealError)) throw error
  throw new ProviderFailure('misconfigured', 'The stored password cannot be read.', { cause: error })
}
