import type { SecureContext } from 'node:tls'
import type { AccountView } from '../../accounts/row.ts'
import type { AccountKeys } from '../../accounts/secrets.ts'
import type { Db } from '../../database/pool.ts'
import type { EgressGuard } from '../../kit/egress/guard.ts'
import { SealError } from '../../kit/seal.ts'
import { cardDavAccount } from '../../providers/dav/carddav.ts'
import type { FileThread } from '../../providers/dav/file-thread.ts'
import type { LoginSchemes } from '../../providers/dav/login.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import type { ConnectionPermit } from '../connections.ts'
import type { HostBudget } from '../host-budget.ts'
import { permittedContacts } from './dav-permits.ts'
import type { Way } from './kind.ts'

export interface DavOptions {
  db: Db
  accountKeys: AccountKeys
  guard: EgressGuard
  davFiles: FileThread
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

/** Leads to the contacts of an IMAP account, which its DAV settings name. */
export function contactsWay(options: DavOptions, account: AccountView, schemes: LoginSchemes): Way {
  const dav = account.imap?.dav
  const home = URL.parse(dav?.contactsUrl ?? '')
  if (!dav || !home) throw new ProviderFailure('unsupported', 'This account has no CardDAV server.')
  const { db, accountKeys, guard, davFiles, authorities, davBudget, settings } = options
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
      const connected = cardDavAccount({ home, login, guard, files: davFiles, authorities, schemes, signal })
      const permits = { acquire: (until: AbortSignal) => davBudget.acquire(home.hostname, until), signal }
      return {
        contacts: permittedContacts(connected.contacts, permits),
        [Symbol.asyncDispose]: () => connected[Symbol.asyncDispose](),
      }
    },
  }
}

/** A secret that does not open is a fault of the account's setup. */
function blameAccount(error: unknown): never {
  if (!(error instanceof SealError)) throw error
  throw new ProviderFailure('misconfigured', 'The stored password cannot be read.', { cause: error })
}
