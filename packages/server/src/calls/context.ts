import type { Scope, TargetName } from '@waxwing/contract/operation.ts'
import type { Kysely } from 'kysely'
import type { CursorCodec } from '../database/page.ts'
import type { Tables } from '../database/tables.ts'
import type { WakeChannel } from '../database/wake.ts'
import type { Transact, UnitOfWork } from '../events/unit-of-work.ts'
import type { Logger } from '../kit/log.ts'
import type { Credential } from './credential.ts'

/**
 * Arguments of every call of an operation besides its input. `change` and `step` are its only ways to write.
 * Everything that only some operations use, such as the connections to providers, is an argument of the function that
 * makes them: see `wing.ts` of their wing.
 */
export interface RequestContext extends Commits {
  db: Kysely<Tables>
  tenantId: string
  credential: Credential
  requestId: string
  /** Identifies the client for rate limits. */
  client: string
  /** Seals the cursors of lists. */
  cursors: CursorCodec
  log: Logger
  /** Headers of the answer besides those that every answer has. A POST sets them before its change is committed. */
  answerHeaders: AnswerHeaders
  /** The header `If-Match` as sent; null without it. */
  ifMatch: string | null
  /** The header `Last-Event-ID` as sent; null without it. */
  lastEventId: string | null
  /**
   * Aborts when the caller is gone or has the whole answer, and when the process stops. An operation that waits or
   * streams ends then.
   */
  gone(): AbortSignal
  /**
   * Waits for what the caller wants to wait for. The signal aborts when the caller is gone, when its credential has ended,
   * and when the process stops. Refuses instead of returning what was found if the credential has ended.
   */
  wait<T>(work: (ended: AbortSignal) => Promise<T>): Promise<T>
  /** Makes the answer a stream, which ends when this signal aborts: as that of `wait`. */
  stream(): AbortSignal
  attempt: Attempt
  /**
   * Names further ids in the row of the audit log: what was made, where the answer has it not as `id`. Called before the
   * change is committed.
   */
  target(ids: Record<TargetName, string>): void
}

/** One request, however often it is sent again under its Idempotency-Key until it has an answer. */
export interface Attempt {
  /** Made when it first began. Things that are created at a provider can be found again by it. */
  id: string
  /** Whether an earlier try may have had an effect at the provider. */
  isResumed: boolean
}

export interface AnswerHeaders {
  etag?: string
}

/** A unit of work whose commit wakes others. */
export interface ChangeUnit extends UnitOfWork {
  /** Whether rows may be taken to be as they were read before, if the commit requires that (`requiring`). */
  readonly mayAssume?: boolean
  /** Wakes the owner of an account after the commit, or the loops that listen to the channel. */
  wake(accountId: string, channel?: WakeChannel): void
}

/** The ways in which an operation commits. */
export interface Commits {
  /**
   * Commits rows, events, the row of the audit log and the answer together, and wakes afterwards. The value that
   * `work` returns is the answer of the operation: where a POST carries an Idempotency-Key, the same transaction
   * keeps it, so that a repetition is answered alike whenever this process dies. Called once, and nothing is
   * committed after it. `scopes` are those that a repetition needs besides the operation's own, where the answer
   * gives them away. With `transact`, calls share a transaction: it may run `work` again in another one if the first
   * was rolled back. With `mayAssume`, `work` may assume what it has read before; if a condition that it required
   * does not hold, it runs again in another transaction, without assuming.
   */
  change<T>(
    work: (unit: ChangeUnit) => Promise<T>,
    options?: { scopes?: readonly Scope[]; transact?: Transact; mayAssume?: boolean },
  ): Promise<T>
  /** Commits a part before the change: a recovery point before a call to the outside, or a batch of many. */
  step<T>(work: (unit: ChangeUnit) => Promise<T>): Promise<T>
}
