const COUNT_BEFORE_SWEEP = 1_000

/** Things that are looked up by their name, and made when they are missing. Idle ones are forgotten. */
export class KeptByName<T> {
  readonly #make: (name: string) => T
  readonly #isIdle: (kept: T) => boolean
  readonly #kept = new Map<string, T>()
  /** Grows with those that are in use, so that a sweep costs little for each thing that is made. */
  #sweepAt = COUNT_BEFORE_SWEEP

  constructor(make: (name: string) => T, isIdle: (kept: T) => boolean) {
    this.#make = make
    this.#isIdle = isIdle
  }

  of(name: string): T {
    const known = this.#kept.get(name)
    if (known !== undefined) return known
    if (this.#kept.size >= this.#sweepAt) this.#sweep()
    const made = this.#make(name)
    this.#kept.set(name, made)
    return made
  }

  values(): Iterable<T> {
    return this.#kept.values()
  }

  #sweep(): void {
    for (const [name, kept] of this.#kept) if (this.#isIdle(kept)) this.#kept.delete(name)
    this.#sweepAt = Math.max(COUNT_BEFORE_SWEEP, 2 * this.#kept.size)
  }
}
