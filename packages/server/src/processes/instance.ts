import { Lease, type LeaseOptions } from './lease.ts'
import { unlessAborted } from './nudge.ts'
import { WokenLoop } from './woken-loop.ts'

export type InstanceOptions = Omit<LeaseOptions, 'predecessorId'>

/** A lapse wakes the loop, so the poll is only a safeguard. */
const POLL_SECONDS = 3600
const RETRY_SECONDS_MAX = 1

/**
 * This process, as one of those that share the database, whatever its roles. It holds one lease at a time; when that
 * lapses, it registers again under another id. Work that owns rows asks for the lease each time, and drops what it
 * owned when the lease lapses.
 */
export class Instance implements AsyncDisposable {
  readonly #options: InstanceOptions
  readonly #loop: WokenLoop
  #latest: Lease | null = null
  #renewed = Promise.withResolvers<void>()

  private constructor(options: InstanceOptions) {
    this.#options = options
    this.#loop = new WokenLoop({
      look: () => this.#look(),
      failure: 'Could not register this process',
      log: options.log,
      retrySecondsMax: RETRY_SECONDS_MAX,
    })
  }

  /** Resolves after the first attempt to register, whether it succeeded or not. */
  static async start(options: InstanceOptions): Promise<Instance> {
    const instance = new Instance(options)
    await instance.#loop.firstLook
    return instance
  }

  /** Null while this process holds no valid lease. */
  get lease(): Lease | null {
    return this.#latest?.lapsed.aborted === false ? this.#latest : null
  }

  /** Waits until there is a lease. Rejects when the signal aborts. */
  async awaitLease(signal: AbortSignal): Promise<Lease> {
    for (;;) {
      const { lease } = this
      if (lease) return lease
      await unlessAborted(signal, this.#renewed.promise)
    }
  }

  async #look(): Promise<number> {
    if (this.lease) return POLL_SECONDS
    const lease = await Lease.register({ ...this.#options, predecessorId: this.#latest?.id ?? null })
    this.#latest = lease
    lease.lapsed.addEventListener('abort', () => this.#loop.wake(), { once: true })
    if (lease.lapsed.aborted) return 0
    this.#renewed.resolve()
    this.#renewed = Promise.withResolvers()
    return POLL_SECONDS
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
    await this.#latest?.[Symbol.asyncDispose]()
  }
}
