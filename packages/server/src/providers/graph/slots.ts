import { ProviderFailure } from '../failure.ts'
import type { Urgency } from './api.ts'

/**
 * The requests that may be under way to one mailbox, by the numbers of their slots. Exchange refuses a fifth
 * (learn.microsoft.com/graph/throttling-limits), and counts one for a while after its answer.
 */
export const SLOTS = [0, 1, 2] as const
export type SlotNumber = (typeof SLOTS)[number]
/** The slot that background and late work leaves to other calls. */
const KEPT_FREE: SlotNumber = 2
/** A call that waits longer than this for its slot is given up: the requests before it do not end. */
const WAIT_MS_MAX = 60_000

/** The right of the callers of one mailbox to have requests under way. */
export interface MailboxSlots {
  /** Waits for a slot. Rejects with `throttled` after a minute, and with `unavailable` if the signal ends. */
  enter(urgency: Urgency, signal?: AbortSignal): Promise<Disposable>
  /** Reports to other callers that Graph refuses calls to the mailbox for this long. */
  holdUp?(seconds: number): void
}

export interface SlotHooks {
  /** Called when a call begins to wait. */
  onWaiting(): void
  /** Called when a call gives its slot back. @returns whether this process keeps the slot */
  onLeft(slot: SlotNumber): boolean
}

interface Waiting {
  urgency: Urgency
  enter(slot: SlotNumber): void
  giveUp(error: unknown): void
}

const ORDER: readonly Urgency[] = ['interactive', 'prompt', 'background', 'late']

/** The slots of one mailbox that this process has. Interactive calls enter first, late ones last. */
export class OwnSlots implements MailboxSlots {
  readonly #hooks: SlotHooks | null
  #free: SlotNumber[]
  #used = 0
  readonly #waiting: Waiting[] = []

  /** @param slots those that the process has from the beginning; all by default */
  constructor(slots: readonly SlotNumber[] = SLOTS, hooks: SlotHooks | null = null) {
    this.#free = [...slots]
    this.#hooks = hooks
  }

  /** Whether no call uses a slot or waits for one. */
  get isIdle(): boolean {
    return this.#used === 0 && this.#waiting.length === 0
  }

  get waitingCount(): number {
    return this.#waiting.length
  }

  enter(urgency: Urgency, signal?: AbortSignal): Promise<Disposable> {
    if (signal?.aborted) return Promise.reject(givenUp())
    const free = this.#findFree(urgency)
    if (free !== undefined) return Promise.resolve(this.#use(free))
    const { promise, resolve, reject } = Promise.withResolvers<Disposable>()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
    }
    const waiting: Waiting = {
      urgency,
      enter: slot => {
        end()
        resolve(this.#use(slot))
      },
      giveUp: error => {
        end()
        reject(error)
      },
    }
    const onAbort = () => waiting.giveUp(givenUp())
    const timer = setTimeout(() => waiting.giveUp(tooLong()), WAIT_MS_MAX)
    timer.unref()
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#waiting.push(waiting)
    this.#hooks?.onWaiting()
    return promise
  }

  /** Whether a call waits that may use the slot. */
  isWanted(slot: SlotNumber): boolean {
    return this.#waiting.some(({ urgency }) => mayUse(urgency, slot))
  }

  isFree(slot: SlotNumber): boolean {
    return this.#free.includes(slot)
  }

  /** Adds a slot that no call uses. */
  add(slot: SlotNumber): void {
    this.#free = [...this.#free, slot].toSorted((one, other) => one - other)
    for (const urgency of ORDER)
      for (const waiting of this.#waiting.filter(each => each.urgency === urgency)) {
        const free = this.#findFree(urgency)
        if (free === undefined) break
        waiting.enter(free)
      }
  }

  /** Takes a slot away, unless a call uses it. */
  remove(slot: SlotNumber): boolean {
    if (!this.isFree(slot)) return false
    this.#free = this.#free.filter(free => free !== slot)
    return true
  }

  /** Rejects the waits of all calls. */
  rejectWaiting(error: unknown): void {
    for (const waiting of this.#waiting.slice()) waiting.giveUp(error)
  }

  #findFree(urgency: Urgency): SlotNumber | undefined {
    return this.#free.find(slot => mayUse(urgency, slot))
  }

  #use(slot: SlotNumber): Disposable {
    this.remove(slot)
    this.#used += 1
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return
        isHeld = false
        this.#used -= 1
        if (this.#hooks?.onLeft(slot) ?? true) this.add(slot)
      },
    }
  }
}

function mayUse(urgency: Urgency, slot: SlotNumber): boolean {
  return urgency === 'interactive' || urgency === 'prompt' || slot !== KEPT_FREE
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
