import type { AnswerHeaders } from '../features/context.ts'
import type { Refusal } from '../features/refuse.ts'
import type { Count } from './rate-windows.ts'

/** A call of an operation as a surface announces it, before anything of its input is read. */
export interface Call {
  requestId: string
  /** Which client it comes from, for counting. */
  client: string
  /** The credential that is presented; null where there is none. Hosted operations take a `token` of `params` instead. */
  credential: string | null
  params: Record<string, string>
}

/** Whether a call may go on. The surface calls `end` when the last byte of the answer is out, whatever the outcome. */
export type Admission = { rate: Count | null; end: () => void } & (
  | { outcome: 'refused'; refusal: Refusal }
  | ({ outcome: 'admitted' } & AdmittedCall)
)

export interface AdmittedCall {
  /** Runs the operation. Always answers. */
  run(given: GivenInput): Promise<Answer>
  /** The refusal for a failure after `run`, such as while a download begins. */
  refusalOf(error: unknown): Refusal
}

/** What a call brings once its body is read. */
export interface GivenInput {
  /** Query and body, before the contract has looked at them. May refuse; is called after the key was looked up. */
  readInput(): { query: unknown; body: unknown }
  /** An idempotency key as it was sent. Counts for POST alone. */
  key: GivenKey | null
}

export interface GivenKey {
  text: string
  /** The hash of everything that must be equal when the key is sent again. */
  fingerprint(): Buffer
}

export type Answer =
  /** `output` as the contract describes it. */
  | { outcome: 'done'; output: unknown; headers: AnswerHeaders }
  /** The answer of an idempotency key, as JSON: the same text now and whenever the call is repeated. */
  | { outcome: 'kept'; status: number; text: string; headers: AnswerHeaders; isReplayed: boolean }
  | { outcome: 'refused'; refusal: Refusal }
