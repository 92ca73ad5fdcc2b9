import type { Surface } from '@waxwing/contract/tenancy/audit-log.ts'
import type { AnswerHeaders } from '../calls/context.ts'
import type { Refusal } from '../calls/refuse.ts'
import type { Count } from '../limits/windows.ts'

/** A call of an operation as a surface announces it, before any input is read. */
export interface Call {
  requestId: string
  surface: Surface
  /** Identifies the client for rate limits. */
  client: string
  /** The address of the client; null if it is not known. */
  ip: string | null
  userAgent: string | null
  /** The credential presented, or null. Hosted operations take `params.token` instead. */
  credential: string | null
  params: Record<string, string>
  /** Condition on the state of the resource, from `If-Match`; null without one. */
  ifMatch: string | null
  /** The header `Last-Event-ID`, with which a client takes up an event stream again. */
  lastEventId: string | null
  /** Aborts when the caller is gone or has the whole answer, and when the process stops. */
  gone(): AbortSignal
}

/** The decision on a call. The surface calls `end` when the last byte of the answer is out, whatever the outcome. */
export type Admission = { rate: Count | null; end: () => void } & (
  | { outcome: 'refused'; refusal: Refusal }
  | ({ outcome: 'admitted' } & AdmittedCall)
)

export interface AdmittedCall {
  tenantId: string
  /** Runs the operation. Never rejects. */
  run(given: GivenInput): Promise<Answer>
  /**
   * Puts into the audit log what the surface answers instead of calling `run`. Returns the refusal to answer if that
   * fails, otherwise null. Never rejects.
   */
  recordRefusal(answer: { status: number; reason: string }): Promise<Refusal | null>
  /** Returns the refusal for a failure after `run`, for example while a download begins. */
  refusalOf(error: unknown): Refusal
}

/** The input that a call has once its body is read. */
export interface GivenInput {
  /** Returns query and body before validation by the contract. May refuse. Called after the key was looked up. */
  readInput(): { query: unknown; body: unknown }
  /** The idempotency key as sent. Used for POST only. */
  key: GivenKey | null
}

export interface GivenKey {
  text: string
  /** Returns the hash of everything that must be equal when the key is sent again. */
  fingerprint(): Buffer
}

export type Answer =
  /** `output` as the contract describes it. */
  | { outcome: 'done'; output: unknown; headers: AnswerHeaders }
  /** The answer stored for an idempotency key, as JSON. Its text is the same at every repetition. */
  | { outcome: 'kept'; status: number; text: string; headers: AnswerHeaders; isReplayed: boolean }
  | { outcome: 'refused'; refusal: Refusal }
