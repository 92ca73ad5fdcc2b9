import { pause, unlessAborted } from '../../processes/nudge.ts'
import type { Logger } from '../../kit/log.ts'
import { type RedisConnection, type RedisOptions, RedisRefused, connectRedis } from './connection.ts'
import { COUNT, type Script } from './scripts.ts'

/** A request waits no longer for the store. */
const ANSWER_MILLISECONDS = 20
/** A connection over which nothing is answered for this long is given up. */
const STALL_SECONDS = 2
const PROOF_INTERVAL_MILLISECONDS = 50
/** Between two connections; half of it at random, so that the processes do not come together. */
const RETRY_MILLISECONDS = 500
/** The log reports at most once in this time that the store is gone or back. */
const REPORT_SECONDS = 60
const PROOF_LIMIT = 1_000_000_000
/** Errors of one call, which say nothing about the store. */
const OF_A_CALL = /^(?:WRONGTYPE|ERR user_script|ERR Error running script)/

export interface LinkOptions extends RedisOptions {
  log: Logger
  /** Returns the key in Redis of a name. */
  keyOf(name: string): string
  /** 20 by default. Tests of other things are more patient. */
  answerMilliseconds?: number
}

/**
 * The way to Redis: one connection, which is opened again when it is lost. Nothing waits for it: a call that is not
 * answered within 20 ms fails, and so does every further one, at once, until the store has shown that it counts again.
 */
export class RedisLink implements AsyncDisposable {
  readonly #options: LinkOptions
  readonly #stop = new AbortController()
  readonly #backListeners: Array<() => void> = []
  readonly #first = Promise.withResolvers<void>()
  readonly #kept: Promise<void>
  /** Null while the store is gone or slow. */
  #proven: { connection: RedisConnection; failed: AbortController } | null = null
  #reportedAt = Number.NEGATIVE_INFINITY
  #goneSince: number | null = performance.now()
  #isReportedGone = false

  private constructor(options: LinkOptions) {
    this.#options = options
    this.#kept = this.#keep()
  }

  /** Resolves after the first attempt to connect, even if it failed. Rejects if the settings must be wrong. */
  static async open(options: LinkOptions): Promise<RedisLink> {
    const link = new RedisLink(options)
    try {
      await link.#first.promise
    } catch (error) {
      await link[Symbol.asyncDispose]()
      throw error
    }
    return link
  }

  get isUp(): boolean {
    return this.#proven !== null
  }

  /** Called whenever the store is back, at once if it is there. */
  onBack(listener: () => void): void {
    this.#backListeners.push(listener)
    if (this.isUp) listener()
  }

  /** Runs a script. Its keys are names. Returns null if it has no answer in time, or one that makes no sense. */
  async run(
    { sha, text }: Script,
    names: readonly string[],
    args: ReadonlyArray<string | number>,
  ): Promise<readonly number[] | null> {
    const rest = [String(names.length), ...names.map(this.#options.keyOf), ...args.map(String)]
    const answer = await this.#ask(async send => {
      try {
        return await send(['EVALSHA', sha, ...rest])
      } catch (error) {
        if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
        return send(['EVAL', text, ...rest])
      }
    })
    return Array.isArray(answer) && answer.every(each => Number.isSafeInteger(each)) ? answer : null
  }

  /** Sends one command about a name. Returns its answer, or undefined if it has none in time. */
  command(command: string, name: string, ...args: ReadonlyArray<string | number>): Promise<unknown> {
    return this.#ask(send => send([command, this.#options.keyOf(name), ...args.map(String)]))
  }

  async #ask(work: (send: RedisConnection['send']) => Promise<unknown>): Promise<unknown> {
    const proven = this.#proven
    if (!proven || proven.failed.signal.aborted) return undefined
    try {
      return await this.#inTime(work(proven.connection.send))
    } catch (error) {
      if (error instanceof Error && OF_A_CALL.test(error.message)) this.#reportCall(error)
      else proven.failed.abort(error)
      return undefined
    }
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        using connection = await connectRedis(this.#options, signal)
        await this.#use(connection)
      } catch (error) {
        if (error instanceof RedisRefused) this.#first.reject(error)
        if (!signal.aborted) this.#reportGone(error)
      }
      this.#first.resolve()
      await pause(RETRY_MILLISECONDS * (0.5 + Math.random() / 2), signal)
    }
    this.#first.resolve()
  }

  /** Uses a connection until it is lost. */
  async #use(connection: RedisConnection): Promise<void> {
    for (;;) {
      await this.#prove(connection)
      const failed = new AbortController()
      this.#proven = { connection, failed }
      this.#reportBack()
      this.#first.resolve()
      for (const listener of this.#backListeners) listener()
      await pause(2 ** 31 - 1, failed.signal, connection.lost, this.#stop.signal)
      this.#proven = null
      if (this.#stop.signal.aborted) return
      this.#goneSince = performance.now()
      this.#reportGone(failed.signal.reason ?? connection.lost.reason)
      connection.lost.throwIfAborted()
    }
  }

  /** Resolves once the store has counted something in time. Rejects if the connection is lost, or nothing is answered. */
  async #prove(connection: RedisConnection): Promise<void> {
    const key = this.#options.keyOf('proof')
    for (;;) {
      const proof = connection.send(['EVAL', COUNT.text, '1', key, '60000', String(PROOF_LIMIT), '1'])
      const answer = await this.#inTime(proof).catch((error: unknown) => {
        if (!(error instanceof TooSlow)) throw error
        return null
      })
      if (answer !== null) return
      const stalled = AbortSignal.timeout(STALL_SECONDS * 1000)
      await unlessAborted(AbortSignal.any([connection.lost, this.#stop.signal, stalled]), proof)
      await pause(PROOF_INTERVAL_MILLISECONDS, this.#stop.signal)
    }
  }

  #inTime<T>(work: Promise<T>): Promise<T> {
    return inTime(work, this.#options.answerMilliseconds ?? ANSWER_MILLISECONDS)
  }

  #reportGone(error: unknown): void {
    if (this.#isReportedGone) return
    this.#report(() => {
      this.#isReportedGone = true
      this.#options.log.warn(
        { error },
        'The store of REDIS_URL does not answer: until it is back, requests of a minute are not counted, and each ' +
          'process counts for itself what else is limited',
      )
    })
  }

  #reportBack(): void {
    const seconds = Math.round((performance.now() - (this.#goneSince ?? performance.now())) / 1000)
    this.#goneSince = null
    if (this.#isReportedGone) this.#options.log.info({ seconds }, 'The store of REDIS_URL is back')
    this.#isReportedGone = false
  }

  #reportCall(error: Error): void {
    const message = 'The store of REDIS_URL refused a command, so a request was not counted'
    this.#report(() => this.#options.log.warn({ error }, message))
  }

  #report(log: () => void): void {
    if (performance.now() - this.#reportedAt < REPORT_SECONDS * 1000) return
    this.#reportedAt = performance.now()
    log()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#kept
  }
}

class TooSlow extends Error {
  override name = 'TooSlow'

  constructor(milliseconds: number) {
    super(`no answer within ${milliseconds} ms`)
  }
}

/**
 * Rejects with `TooSlow` after this time. An answer that has arrived by then counts: when this process was busy itself, its timers run
 * before it has read its sockets, and `setImmediate` runs after.
 */
function inTime<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(new TooSlow(milliseconds))), milliseconds)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
