import type { Scope } from '@waxwing/contract/operation.ts'
import type { Kysely, Transaction } from 'kysely'
import type { CursorCodec } from '../database/page.ts'
import type { Tables } from '../database/tables.ts'
import type { BlobStore } from '../kit/blobs/blob-store.ts'
import type { Logger } from '../kit/log.ts'
import type { MessageReader } from '../kit/mime/message-reader.ts'
import type { PartPlaces } from './mail/content/part-places.ts'
import type { Turns } from '../kit/turns.ts'
import type { ContentRange } from '../providers/content.ts'
import type { Cursor, MessageKey } from '../providers/mail.ts'
import type { SearchPage, SearchQuery } from '../providers/search.ts'
import type { ServerCheck } from '../providers/sign-in.ts'
import type { ServerSearch } from '../providers/discovery.ts'
import type { AccountKeys } from './accounts/accounts/secrets.ts'
import type { Credential } from './tenancy/credentials/credential.ts'

/** What an operation is given besides its input. */
export interface RequestContext {
  db: Kysely<Tables>
  tenantId: string
  credential: Credential
  requestId: string
  services: Services
  /**
   * To be called by every POST last in the transaction of its effect, with the body of its answer: a repetition with
   * the same Idempotency-Key is then answered alike, whenever this process dies. Without the header it does nothing.
   * May be left out where to repeat the effect changes nothing. `scopes` are those that a repetition needs besides the
   * operation's own, where the answer gives them away.
   */
  keepAnswer(tx: Transaction<Tables>, body: unknown, scopes?: readonly Scope[]): Promise<void>
}

/** Whose mail is read. `version` changes with the account's servers and secrets. */
export interface MailReader {
  id: string
  tenantId: string
  version: string
}

/** Messages at their provider. Throws what `MailProvider` and what reading secrets throws. */
export interface ProviderMail {
  readContent(
    account: MailReader,
    place: { source: string; cursor: Cursor | null; key: MessageKey },
    range: ContentRange,
  ): Promise<Buffer | null>
  /** The signal ends it, and the connection with it. */
  readSources(
    account: MailReader,
    place: { source: string; cursor: Cursor | null; keys: readonly MessageKey[] },
    bytesMax: number,
    signal: AbortSignal,
  ): Promise<Map<MessageKey, Buffer>>
  search(account: MailReader, query: SearchQuery, secondsMax: number): Promise<SearchPage>
}

/** What operations need besides the database; made once, where the service is composed. */
export interface Services {
  cursors: CursorCodec
  accountKeys: AccountKeys
  /** With which credentials are digested: `createAccountToken` of features/tenancy/credentials/store.ts asks for it. */
  credentialPepper: Buffer
  servers: ServerCheck
  serverSearch: ServerSearch
  /** Reads and searches messages at their provider, on a connection that is made on demand. */
  mail: ProviderMail
  /** Stored messages. */
  blobs: BlobStore
  /** Told of each message that is stored: its words come into the index soon. */
  bodies: { wake(): void }
  /** Reads the MIME of messages, apart from the event loop. */
  reader: MessageReader
  partPlaces: PartPlaces
  /** Searches of the index: each may keep a processor busy, so few run at once. */
  searches: Turns
  /** Tells the owner of the account that there is work. Coalesced; never throws. */
  wake(accountId: string): void
  /** Whether `security: none` is allowed. */
  allowPlaintext: boolean
  log: Logger
}
