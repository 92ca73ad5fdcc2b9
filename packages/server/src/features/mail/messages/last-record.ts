import type { ChangeUnit, Commits } from '../../../calls/context.ts'
import type { RecordWork } from './change.ts'
import type { SummaryRow } from './present.ts'
import type { RecordOptions } from './record-changed-flags.ts'

/**
 * Records what the provider has carried out, the last of it in the commit that makes the answer. What comes before the
 * last is committed when the next begins.
 */
export class LastRecord {
  readonly #step: Commits['step']
  #waiting: RecordWork | null = null

  constructor(step: Commits['step']) {
    this.#step = step
  }

  async record(work: RecordWork): Promise<void> {
    await this.flush()
    this.#waiting = work
  }

  /** Commits what waits. To be called where no answer follows. */
  async flush(): Promise<void> {
    const work = this.#waiting
    this.#waiting = null
    if (work) await this.#step(unit => work(unit, { mayAssume: false }))
  }

  /**
   * Does what waits in the commit that makes the answer. If that fails, it may be called again.
   * @returns the messages that it recorded, as far as it knows them
   */
  async finish(unit: ChangeUnit, options: RecordOptions): Promise<ReadonlyMap<string, SummaryRow>> {
    return (await this.#waiting?.(unit, options)) ?? new Map()
  }
}
