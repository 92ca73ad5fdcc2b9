import type { AnswerHeaders } from '../features/context.ts'
import type { Refusal } from '../features/refuse.ts'
import type { Count } from './rate-windows.ts'

/** A call of an operation as a surface announces it, before any input is read. */
export interface Call {
  requestId: string
  /** Identifies the client for rate limits. */
  client: string
  /** The credential presented, or null. Hosted operations take `params.token` instead. */
  credential: string | null
  params: Record<string, string>
  /** What the state of the resource must match; null without a condition. */
  ifMatch: string | null
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
