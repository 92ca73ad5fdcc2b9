import type { Scope } from '@waxwing/contract/operation.ts'
import type { Kysely } from 'kysely'
import type { CursorCodec } from '../database/page.ts'
import type { Tables } from '../database/tables.ts'
import type { WakeChannel } from '../database/wake.ts'
import type { UnitOfWork } from '../events/unit-of-work.ts'
import type { Logger } from '../kit/log.ts'
import type { Credential } from './tenancy/credentials/credential.ts'

/**
 * What every call of an operation is given besides its input. `change` and `step` are its only ways to write. What only
 * some operations use, such as the connections to providers, they are made with: see `wing.ts` of their wing.
 */
export interface RequestContext extends Commits {
  db: Kysely<Tables>
  tenantId: string
  credential: Credential
  requestId: string
  /** Seals the cursors of lists. */
  cursors: CursorCodec
  log: Logger
  /** Headers of the answer besides those that every answer has. A POST sets them before its change is committed. */
  answerHeaders: AnswerHeaders
  /** The header `If-Match` as sent; null without it. */
  ifMatch: string | null
  attempt: Attempt
}

/** One request, however often it is sent again under its Idempotency-Key until it has an answer. */
export interface Attempt {
  /** Made when it first began. What is created at a provider can be found again by it. */
  id: string
  /** Whether an earlier try may have had an effect at the provider. */
  isResumed: boolean
}

export interface AnswerHeaders {
  etag?: string
}

/** A unit of work whose commit wakes others. */
export interface ChangeUnit extends UnitOfWork {
  /** Says after the commit that there is work for an account: to its owner, or to those who listen to the channel. */
  wake(accountId: string, channel?: WakeChannel): void
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
