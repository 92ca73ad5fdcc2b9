import type { ChangeUnit, Commits } from '../../context.ts'

type Work = (unit: ChangeUnit) => Promise<void>

/**
 * Records what the provider has carried out, the last of it in the commit that makes the answer. What comes before the
 * last is committed when the next begins.
 */
export class LastRecord {
  readonly #step: Commits['step']
  #waiting: Work | null = null

  constructor(step: Commits['step']) {
    this.#step = step
  }

  async record(work: Work): Promise<void> {
    await this.flush()
    this.#waiting = work
  }

  /** Commits what waits. To be called where no answer follows. */
  async flush(): Promise<void> {
    const work = this.#take()
    if (work) await this.#step(work)
  }

  /** Does what waits in the commit that makes the answer. */
  async finish(unit: ChangeUnit): Promise<void> {
    await this.#take()?.(unit)
  }

  #take(): Work | null {
    const work = this.#waiting
    this.#waiting = null
    return work
  }
}
