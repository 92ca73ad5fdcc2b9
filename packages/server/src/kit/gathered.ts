interface Waiting<Asked, Answer> extends PromiseWithResolvers<Answer> {
  asked: Asked
}

/**
 * Answers many requests with few calls: while one call runs, the next requests gather, and share the call after it. So
 * each request is answered by a call that began after it was made.
 */
export class Gathered<Asked, Answer> implements AsyncDisposable {
  readonly #call: (asked: Asked[]) => Promise<Answer[]>
  readonly #countMax: number
  #waiting: Waiting<Asked, Answer>[] = []
  #running: Promise<void> | null = null

  /**
   * @param call answers requests in their order, and rejects for all of them
   * @param countMax requests that share a call
   */
  constructor(call: (asked: Asked[]) => Promise<Answer[]>, countMax: number) {
    this.#call = call
    this.#countMax = countMax
  }

  ask(asked: Asked): Promise<Answer> {
    const waiting = { asked, ...Promise.withResolvers<Answer>() }
    this.#waiting.push(waiting)
    this.#running ??= this.#run()
    return waiting.promise
  }

  /** Waits for the calls that are under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    // Requests of the same turn come together.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#countMax)
      try {
        const answers = await this.#call(batch.map(({ asked }) => asked))
        // The call answers each.
        for (const [nth, { resolve }] of batch.entries()) resolve(answers[nth]!)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#running = null
  }
}
