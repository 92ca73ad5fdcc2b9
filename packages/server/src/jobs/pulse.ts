import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import type { Logger } from '../kit/log.ts'
import { WokenLoop } from './woken-loop.ts'

/** Work that no wake reported is found within this time. */
const PULSE_SECONDS = 1

/** What a loop asks the database: whether it has something to do. */
export interface Question {
  /** A condition that costs next to nothing if it does not hold; null: there is nothing to ask now. */
  isDue(): RawBuilder<boolean> | null
  /** Called after each pulse at which the condition held. Returns at once and never throws. */
  onDue(): void
}

/**
 * Asks once a second, with one statement for all loops of this process, whether they have something to do. A process
 * that has nothing to do is woken by hardly anything else: each statement of a quiet process costs about a millisecond
 * of processor time, however little it reads.
 */
export class Pulse implements AsyncDisposable {
  readonly #db: Db
  readonly #seconds: number
  readonly #questions = new Set<Question>()
  readonly #loop: WokenLoop

  /** @param seconds between two pulses; tests use less */
  constructor(db: Db, log: Logger, seconds = PULSE_SECONDS) {
    this.#db = db
    this.#seconds = seconds
    this.#loop = new WokenLoop({
      look: () => this.#look(),
      failure: 'Could not ask what is due',
      log,
    })
  }

  /** Asks the question with every pulse, until it is disposed. */
  ask(question: Question): Disposable {
    this.#questions.add(question)
    return { [Symbol.dispose]: () => void this.#questions.delete(question) }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#loop[Symbol.asyncDispose]()
  }

  async #look(): Promise<number> {
    const asked = [...this.#questions].flatMap(question => {
      const isDue = question.isDue()
      return isDue ? [{ question, isDue }] : []
    })
    if (asked.length === 0) return this.#seconds
    const { rows } = await sql<{ answers: boolean[] }>`
      select array[${sql.join(asked.map(({ isDue }) => isDue))}] as answers
    `.execute(this.#db)
    for (const [nth, { question }] of asked.entries())
      if (rows[0]?.answers[nth] && this.#questions.has(question)) question.onDue()
    return this.#seconds
  }
}
