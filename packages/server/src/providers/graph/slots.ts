import { ProviderFailure } from '../failure.ts'
import type { Urgency } from './api.ts'

/**
 * Requests that may be under way to one mailbox. Exchange refuses a fifth (learn.microsoft.com/graph/throttling-limits),
 * and counts one for a while after its answer.
 */
export const SLOTS_MAX = 3
/** Slots that background work leaves to other calls. */
const KEPT_FREE = 1
/** A call that waits longer than this for its slot is given up: the requests before it do not end. */
const WAIT_MS_MAX = 60_000

/** The right of the callers of one mailbox to have requests under way. */
export interface MailboxSlots {
  /** Waits for a slot. Rejects with `throttled` after a minute, and with `unavailable` if the signal ends. */
  enter(urgency: Urgency, signal?: AbortSignal): Promise<Disposable>
}

interface Waiting {
  urgency: Urgency
  enter(): void
}

const ORDER: readonly Urgency[] = ['interactive', 'prompt', 'background']

/** Slots of one mailbox in this process. Interactive calls enter first, background work last. */
export class OwnSlots implements MailboxSlots {
  readonly #countSlots: () => number
  readonly #waiting: Waiting[] = []
  #used = 0

  /** @param countSlots the slots that there are now, at least one */
  constructor(countSlots = () => SLOTS_MAX) {
    this.#countSlots = countSlots
  }

  /** Whether nobody holds or waits for a slot. */
  get isIdle(): boolean {
    return this.#used === 0 && this.#waiting.length === 0
  }

  enter(urgency: Urgency, signal?: AbortSignal): Promise<Disposable> {
    if (signal?.aborted) return Promise.reject(givenUp())
    if (this.#mayEnter(urgency)) return Promise.resolve(this.#take())
    const { promise, resolve, reject } = Promise.withResolvers<Disposable>()
    const end = (error: ProviderFailure | null) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
      if (error) this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      if (error) reject(error)
    }
    const giveUp = () => end(givenUp())
    const timer = setTimeout(() => end(tooLong()), WAIT_MS_MAX)
    timer.unref()
    const waiting: Waiting = {
      urgency,
      enter: () => {
        end(null)
        resolve(this.#take())
      },
    }
    signal?.addEventListener('abort', giveUp, { once: true })
    this.#waiting.push(waiting)
    return promise
  }

  #mayEnter(urgency: Urgency): boolean {
    const slots = this.#countSlots()
    const kept = urgency === 'background' ? Math.min(KEPT_FREE, slots - 1) : 0
    return slots - this.#used > kept
  }

  #take(): Disposable {
    this.#used += 1
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return
        isHeld = false
        this.#used -= 1
        this.#admit()
      },
    }
  }

  #admit(): void {
    for (const urgency of ORDER) {
      const next = this.#waiting.find(waiting => waiting.urgency === urgency)
      if (!next || !this.#mayEnter(urgency)) continue
      this.#waiting.splice(this.#waiting.indexOf(next), 1)
      next.enter()
      return
    }
  }
}

const MAILBOXES_BEFORE_SWEEP = 1_000

/** The slots of all mailboxes that this process calls. They are looked up with each call, so idle ones are forgotten. */
export class SlotsOfMailboxes {
  readonly #countSlots: () => number
  readonly #slots = new Map<string, OwnSlots>()

  constructor(countSlots: () => number) {
    this.#countSlots = countSlots
  }

  of(name: string): MailboxSlots {
    return { enter: (urgency, signal) => this.#find(name).enter(urgency, signal) }
  }

  #find(name: string): OwnSlots {
    const known = this.#slots.get(name)
    if (known) return known
    if (this.#slots.size >= MAILBOXES_BEFORE_SWEEP)
      for (const [other, slots] of this.#slots) if (slots.isIdle) this.#slots.delete(other)
    const slots = new OwnSlots(this.#countSlots)
    this.#slots.set(name, slots)
    return slots
  }
}

function givenUp(): ProviderFailure {
  return new ProviderFailure('unavailable', 'It was given up.', { isBeforeAcceptance: true, isBusy: true })
}

function tooLong(): ProviderFailure {
  return new ProviderFailure('throttled', 'All calls to the mailbox that may be under way are.', {
    retryAfterSeconds: 5,
    isBusy: true,
  })
}
