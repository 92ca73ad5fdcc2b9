import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import type { Logger } from '../kit/log.ts'
import { type ClockReading, planSetBack } from './clock-reading.ts'
import { WokenLoop } from './woken-loop.ts'

/** Work that no wake reported is found within this time. */
const PULSE_SECONDS = 1
/** Clocks are kept right in small steps: nothing waits noticeably longer for those. */
const SET_BACK_MILLISECONDS_MIN = 500

/** The question of a loop to the database: whether it has something to do. */
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
  readonly #setBackListeners = new Set<() => void>()
  #clock: ClockReading | null = null
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

  /** Calls the listener when the clock of the database was set back, until it is disposed. */
  onSetBack(listener: () => void): Disposable {
    this.#setBackListeners.add(listener)
    return { [Symbol.dispose]: () => void this.#setBackListeners.delete(listener) }
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
    const before = performance.now()
    const { rows } = await sql<{ answers: boolean[]; now: Date }>`
      select array[${sql.join(asked.map(({ isDue }) => isDue))}] as answers, clock_timestamp() as now
    `.execute(this.#db)
    // A statement without FROM has one row.
    this.#noteClock({ shown: rows[0]!.now.getTime(), before, after: performance.now() })
    for (const [nth, { question }] of asked.entries())
      if (rows[0]?.answers[nth] && this.#questions.has(question)) question.onDue()
    return this.#seconds
  }
  #noteClock(reading: ClockReading): void {
    const isSetBack = this.#clock && planSetBack(this.#clock, reading) > SET_BACK_MILLISECONDS_MIN
    this.#clock = reading
    if (isSetBack) for (const listener of this.#setBackListeners) listener()
  }
}
