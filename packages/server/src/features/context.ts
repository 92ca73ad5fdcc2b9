import type { Kysely } from 'kysely'
import type { CursorCodec } from '../database/page.ts'
import type { Tables } from '../database/tables.ts'
import type { Logger } from '../kit/log.ts'
import type { ServerCheck } from '../providers/provider.ts'
import type { AccountKeys } from './accounts/secrets.ts'
import type { Credential } from './credentials/credential.ts'

/** What an operation is given besides its input. */
export interface RequestContext {
  db: Kysely<Tables>
  tenantId: string
  credential: Credential
  requestId: string
  services: Services
}

/** What operations need besides the database; made once, where the service is composed. */
export interface Services {
  cursors: CursorCodec
  accountKeys: AccountKeys
  /** With which credentials are digested: `createAccountToken` of features/credentials/store.ts asks for it. */
  credentialPepper: Buffer
  servers: ServerCheck
  /** Tells the owner of the account that there is work. Coalesced; never throws. */
  wake(accountId: string): void
  /** Whether `security: none` is allowed. */
  allowPlaintext: boolean
  log: Logger
}
