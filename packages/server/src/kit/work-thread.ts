import { Worker } from 'node:worker_threads'

/**
 * Time of the thread that several requests share. A request that uses up the rest, in processor time, ends the thread;
 * after each request the rest shrinks by the elapsed time.
 */
export interface WorkBudget {
  msLeft: number
}

/** A thread may take this many times its budget of elapsed time, since other work may hold the processor. */
const WALL_TIMES_MAX = 10
const LOOK_MS_MIN = 10

export interface WorkThreadOptions {
  script: URL
  heapMbMax: number
  workerData?: unknown
  /** The environment of the thread. Default: that of the process. */
  env?: Record<string, string>
}

/** The request took too much time or memory, and ended the thread. */
export class TooMuchWork extends Error {
  override name = 'TooMuchWork'
}

/** The thread ended because of another request, or was closed. */
export class ThreadLost extends Error {
  override name = 'ThreadLost'
}

interface Asked<Answer> {
  settle: PromiseWithResolvers<Answer>
  budget: WorkBudget
}

/**
 * A thread that answers requests one after the other. It posts one message for each that it gets. A request that takes
 * too long, or too much memory, ends the thread: those that wait behind it are lost, and somebody starts another one.
 */
export class WorkThread<Request, Answer> implements AsyncDisposable {
  readonly #worker: Worker
  /** In the order in which the thread answers. It works on the first. */
  readonly #asked: Asked<Answer>[] = []
  #begunAt = 0
  #timer: NodeJS.Timeout | undefined
  #isClosing = false
  #hasEnded = false

  constructor({ script, heapMbMax, workerData, env }: WorkThreadOptions) {
    this.#worker = new Worker(script, {
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
      workerData,
      ...(env && { env }),
    })
    this.#worker.unref()
    this.#worker.on('message', (answer: Answer) => this.#answered(answer))
    this.#worker.on('error', () => undefined)
    this.#worker.on('exit', () => this.#ended())
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /**
   * @param given buffers in the request that the thread gets as they are; nobody else may use them any more
   * @throws TooMuchWork, ThreadLost
   */
  ask(request: Request, budget: WorkBudget, given: ArrayBuffer[] = []): Promise<Answer> {
    if (this.#hasEnded) throw new ThreadLost('The thread has ended')
    const settle = Promise.withResolvers<Answer>()
    this.#asked.push({ settle, budget })
    if (this.#asked.length === 1) this.#begin(budget)
    // An idle thread must not keep the process alive.
    this.#worker.ref()
    this.#worker.postMessage(request, given)
    return settle.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true
    await this.#worker.terminate()
  }

  #begin({ msLeft }: WorkBudget): void {
    this.#begunAt = performance.now()
    // Until the first look it can have used no more than half of its budget.
    this.#timer = setTimeout(() => void this.#look(this.#begunAt, msLeft, null), msLeft / 2)
  }

  /** @param usedBefore processor time of the thread at the first look at this request */
  async #look(begunAt: number, ms: number, usedBefore: number | null): Promise<void> {
    const used = await this.#processorMs()
    // Answered or ended meanwhile.
    if (this.#begunAt !== begunAt || this.#asked.length === 0) return
    const left = ms / 2 - (used - (usedBefore ?? used))
    if (left <= 0 || performance.now() - begunAt > ms * WALL_TIMES_MAX) {
      await this.#worker.terminate()
      return
    }
    this.#timer = setTimeout(
      () => void this.#look(begunAt, ms, usedBefore ?? used),
      Math.max(LOOK_MS_MIN, left),
    )
  }

  /** Node.js before 24.6 does not tell: the time on the wall stands in for it. */
  async #processorMs(): Promise<number> {
    const asking = (this.#worker as Partial<Pick<Worker, 'cpuUsage'>>).cpuUsage?.bind(this.#worker)
    if (!asking) return performance.now()
    // A thread that has just ended says nothing.
    const { user, system } = await asking().catch(() => ({ user: 0, system: 0 }))
    return (user + system) / 1000
  }

  #answered(answer: Answer): void {
    clearTimeout(this.#timer)
    const asked = this.#asked.shift()
    if (!asked) return
    const { budget } = asked
    budget.msLeft = Math.max(1, budget.msLeft - (performance.now() - this.#begunAt))
    this.#begunAt = 0
    asked.settle.resolve(answer)
    const [next] = this.#asked
    if (next) this.#begin(next.budget)
    else this.#worker.unref()
  }

  #ended(): void {
    clearTimeout(this.#timer)
    this.#hasEnded = true
    for (const [at, { settle }] of this.#asked.splice(0).entries())
      settle.reject(
        at === 0 && !this.#isClosing
          ? new TooMuchWork('The request took too much time or memory')
          : new ThreadLost('The thread ended over another request'),
      )
  }
}
