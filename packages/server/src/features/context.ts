import type { Scope } from '@waxwing/contract/operation.ts'
import type { Kysely } from 'kysely'
import type { CursorCodec } from '../database/page.ts'
import type { Connections } from '../connections/connections.ts'
import type { Tables } from '../database/tables.ts'
import type { UnitOfWork } from '../events/unit-of-work.ts'
import type { BlobStore } from '../kit/blobs/blob-store.ts'
import type { Logger } from '../kit/log.ts'
import type { MessageReader } from '../kit/mime/message-reader.ts'
import type { PartPlaces } from './mail/content/part-places.ts'
import type { Semaphore } from '../kit/semaphore.ts'
import type { ServerCheck } from '../providers/sign-in.ts'
import type { ServerSearch } from '../providers/discovery.ts'
import type { AccountKeys } from './accounts/accounts/secrets.ts'
import type { Credential } from './tenancy/credentials/credential.ts'

/** What an operation is given besides its input. `change` and `step` are its only ways to write. */
export interface RequestContext extends Commits {
  db: Kysely<Tables>
  tenantId: string
  credential: Credential
  requestId: string
  services: Services
  /** Headers of the answer besides those that every answer has. A POST sets them before its change is committed. */
  answerHeaders: AnswerHeaders
}

export interface AnswerHeaders {
  etag?: string
}

/** A unit of work whose commit wakes accounts. */
export interface ChangeUnit extends UnitOfWork {
  /** Tells the owner of the account, after the commit, that there is work. */
  wake(accountId: string): void
}

/** How an operation commits. */
export interface Commits {
  /**
   * Commits rows, events and the answer together, and wakes afterwards. What `work` returns is the answer of the
   * operation: where a POST carries an Idempotency-Key, the same transaction keeps it, so that a repetition is answered
   * alike whenever this process dies. Called once, and nothing is committed after it. `scopes` are those that a repetition
   * needs besides the operation's own, where the answer gives them away.
   */
  change<T>(work: (unit: ChangeUnit) => Promise<T>, options?: { scopes?: readonly Scope[] }): Promise<T>
  /** Commits a part before the change: a recovery point before a call to the outside, or a batch of many. */
  step<T>(work: (unit: ChangeUnit) => Promise<T>): Promise<T>
}

/** What operations need besides the database; made once, where the service is composed. */
export interface Services {
  cursors: CursorCodec
  accountKeys: AccountKeys
  /** With which credentials are digested: `createAccountToken` of features/tenancy/credentials/store.ts asks for it. */
  credentialPepper: Buffer
  servers: ServerCheck
  serverSearch: ServerSearch
  /** Reads and searches messages at their providers. */
  connections: Connections
  /** Stored messages. */
  blobs: BlobStore
  /** Told of each message that is stored: its words come into the index soon. */
  bodies: { wake(): void }
  /** Reads the MIME of messages, apart from the event loop. */
  reader: MessageReader
  partPlaces: PartPlaces
  /** Searches of the index: each may keep a processor busy, so few run at once. */
  searches: Semaphore
  /** Whether `security: none` is allowed. */
  allowPlaintext: boolean
  log: Logger
}
