import { inTransaction } from '../../../events/unit-of-work.ts'
import type { Instance } from '../../../processes/instance.ts'
import type { Pulse } from '../../../processes/pulse.ts'
import { WokenLoop } from '../../../processes/woken-loop.ts'
import type { ReachPoint } from '../../../kit/reach-point.ts'
import { findAccountView } from '../../../accounts/store.ts'
import type { ReadContext } from '../../mail/content/body.ts'
import { findMessage } from '../../mail/messages/store.ts'
import { ANSWERS_AT_ONCE } from './limits.ts'
import {
  type ClaimedAnswer,
  claimAnswers,
  hasDueAnswers,
  hurryAnswers,
  releaseAnswer,
  settleAnswer,
} from './pending.ts'
import { readAnswer } from './read-answer.ts'
import { type AnswerResult, recordAnswer } from './record-answer.ts'

/** The pulse and wakes find due messages; this poll is only a safeguard. */
const POLL_SECONDS = 30

/** Moments at which a test ends the process. */
export type AnswerPoint = 'answer_claimed' | 'answer_read' | 'answer_commit' | 'answer_recorded'

export interface AnswerWorkerOptions extends ReadContext {
  instance: Instance
  pulse: Pulse
  reach: ReachPoint<AnswerPoint>
  /** Called with the result of each message; null if it was given up, since it cannot be read. */
  onAnswer(result: AnswerResult | null): void
}

/**
 * Looks at messages that may answer sends, several side by side and one of each account. They are claimed under the
 * lease of the process. The findings about a message are recorded by one commit, which also ends the look at it.
 */
export class AnswerWorker implements AsyncDisposable {
  readonly #options: AnswerWorkerOptions
  readonly #running = new Map<string, { answer: ClaimedAnswer; ended: Promise<void> }>()
  readonly #loop: WokenLoop

  constructor(options: AnswerWorkerOptions) {
    this.#options = options
    this.#loop = new WokenLoop({
      look: signal => this.#look(signal),
      listen: wake => options.pulse.ask({ isDue: () => hasDueAnswers, onDue: wake }),
      failure: 'Could not look for answers to sends',
      log: options.log,
    })
  }

  /** Makes the worker look for due messages. Returns at once and never throws. */
  wake(): void {
    this.#loop.wake()
  }

  /** Looks again at unreadable messages of accounts that changed. */
  wakeAccounts(accountIds: readonly string[]): void {
    const { db, log } = this.#options
    void hurryAnswers(db, accountIds).then(
      () => this.#loop.wake(),
      (error: unknown) => log.warn({ error }, 'Answers to sends are looked at later'),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  async #look(signal: AbortSignal): Promise<number> {
    const { db, instance } = this.#options
    const limit = ANSWERS_AT_ONCE - this.#running.size
    // The end of a look at a message wakes the loop.
    if (limit <= 0) return POLL_SECONDS
    const lease = await instance.awaitLease(signal)
    const running = [...this.#running.values()].map(({ answer }) => answer)
    for (const answer of await claimAnswers(db, lease, { limit, running })) {
      const ended = this.#take(answer).finally(() => {
        this.#running.delete(answer.messageId)
        this.#loop.wake()
      })
      this.#running.set(answer.messageId, { answer, ended })
    }
    return POLL_SECONDS
  }

  /** Never rejects: a message whose result could not be recorded is claimed again. */
  async #take(answer: ClaimedAnswer): Promise<void> {
    const { db, log, onAnswer } = this.#options
    const { messageId, accountId, tenantId } = answer
    const fields = { messageId, accountId, tenantId, attempt: answer.attempts }
    try {
      const outcome = await this.#lookAt(answer)
      if (outcome !== 'passed over') onAnswer(outcome)
    } catch (error) {
      try {
        if (answer.isLast) {
          log.warn({ ...fields, error }, 'An answer to a send could not be read and was given up')
          if (await settleAnswer(db, answer)) onAnswer(null)
        } else {
          log.info({ ...fields, error }, 'An answer to a send could not be read and is tried again')
          await releaseAnswer(db, answer)
        }
      } catch (again) {
        log.warn({ ...fields, error: again }, 'The result of an answer to a send could not be recorded')
      }
    }
  }

  async #lookAt(answer: ClaimedAnswer): Promise<AnswerResult | null | 'passed over'> {
    const { db, reach } = this.#options
    const { messageId, accountId, tenantId } = answer
    await reach('answer_claimed', messageId)
    const account = await findAccountView(db, tenantId, accountId)
    const message = account ? await findMessage(db, accountId, messageId) : null
    if (!account || !message) {
      await settleAnswer(db, answer)
      return 'passed over'
    }
    const content = await readAnswer(this.#options, account, message)
    await reach('answer_read', messageId)
    const result = await inTransaction(db, tenantId, async unit => {
      if (!(await settleAnswer(unit.sql, answer))) return 'passed over'
      const recorded = content ? await recordAnswer(unit, { account, message, content }) : null
      await reach('answer_commit', messageId)
      return recorded
    })
    await reach('answer_recorded', messageId)
    return result
  }
}
