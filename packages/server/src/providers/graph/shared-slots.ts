import { setTimeout as sleep } from 'node:timers/promises'
import { ProviderFailure } from '../failure.ts'
import type { Urgency } from './api.ts'
import { type MailboxSlots, OwnSlots, type SlotNumber } from './slots.ts'

/** The slot of the process that follows the mailbox. */
const FOLLOWER = 0
/** The slots that processes borrow. */
const BORROWED = [1, 2] as const
export type BorrowedSlot = (typeof BORROWED)[number]

/** An idle slot is kept for this long while there are other processes. */
const KEEP_MS = 250
/** The same while there are none: then nobody else can want it. */
const KEEP_ALONE_MS = 30_000
/** A slot that is always in use is offered to the other processes as often as this. */
const OFFER_MS = 1_000
/** While other processes have the slots, this one asks again after this time, then after twice as long. */
const FIRST_WAIT_MS = 40
const WAIT_MS_MAX = 300
/** If a return fails more often, the slot has come back with the lease, which lapses without the database. */
const RETURN_TRIES_MAX = 15
const RETRY_MS = 1_000
/** Calls that were under way together are refused together. */
const SAME_REFUSAL_MS = 1_000
/** The end of following waits at most this long for a call that uses its slot. */
const FOLLOWER_LEAVES_MS = 5_000

export interface SlotAsk {
  name: string
  slots: readonly BorrowedSlot[]
  /** Slots that are wanted at most. */
  count: number
  instanceId: string
}

export interface SlotReturn {
  name: string
  slot: BorrowedSlot
  instanceId: string
  /** Whether the process keeps the slot if no other one waits for it. */
  isOffered: boolean
}

/** The slots that processes borrow from each other. */
export interface SlotTable {
  /**
   * Takes free slots. Puts the process in line for all of these if none is free.
   * @returns the slots that were taken, and the seconds for which Graph refuses calls to the mailbox
   */
  take(ask: SlotAsk): Promise<{ slots: BorrowedSlot[]; heldUpSeconds: number }>
  /** @returns whether the process has lost the slot */
  giveBack(given: SlotReturn): Promise<boolean>
  /** Lets no process take a slot of the mailbox for this long. */
  holdUp(name: string, seconds: number): Promise<void>
}

/** The processes that have slots of the same mailboxes, as one of them sees them. */
export interface SlotSharing {
  table: SlotTable
  isAlone(): boolean
  /** The lease by which this process borrows; null while it has none. */
  instanceId(): string | null
  /** Called when another process was refused: for this long nobody is to call the mailbox. */
  onHeldUp(name: string, seconds: number): void
}

interface Borrowed {
  instanceId: string
  /** When it was taken, or last offered to others. */
  since: number
  leftAt: number
  idle: NodeJS.Timeout | null
}

/**
 * The slots of one mailbox. All processes together have those of `SLOTS`. The process that follows the mailbox has the
 * first one without a statement. A process borrows the others under its lease, keeps them for a moment in case of more
 * calls, and gives them up when another process waits.
 */
export class SharedSlots implements MailboxSlots {
  readonly #name: string
  readonly #sharing: SlotSharing
  readonly #own = new OwnSlots([], {
    onWaiting: () => this.#borrowSoon(),
    onLeft: slot => this.#stays(slot),
  })
  #followers = 0
  #hasFollowerSlot = false
  /** Resolves when a call has left the slot of a follower that is gone. */
  #followerLeft: PromiseWithResolvers<void> | null = null
  readonly #borrowed = new Map<BorrowedSlot, Borrowed>()
  #isBorrowing = false
  #heldUpUntil = 0

  constructor(name: string, sharing: SlotSharing) {
    this.#name = name
    this.#sharing = sharing
  }

  get isIdle(): boolean {
    return this.#own.isIdle && !this.#hasFollowerSlot && this.#borrowed.size === 0 && !this.#isBorrowing
  }

  enter(urgency: Urgency, signal?: AbortSignal): Promise<Disposable> {
    for (const [slot, { instanceId }] of this.#borrowed)
      if (instanceId !== this.#sharing.instanceId() && this.#own.remove(slot)) this.#forget(slot)
    return this.#own.enter(urgency, signal)
  }

  holdUp(seconds: number): void {
    const until = performance.now() + seconds * 1_000
    if (this.#sharing.isAlone() || until < this.#heldUpUntil + SAME_REFUSAL_MS) return
    this.#heldUpUntil = until
    // Without it, the others are refused themselves.
    this.#sharing.table.holdUp(this.#name, seconds).catch(() => {})
  }

  /** Adds the slot of the process that follows the mailbox. Disposing waits for the call that uses it. */
  follow(): AsyncDisposable {
    this.#followers += 1
    if (!this.#hasFollowerSlot) {
      this.#hasFollowerSlot = true
      this.#own.add(FOLLOWER)
    }
    let isFollowed = true
    return {
      [Symbol.asyncDispose]: async () => {
        if (!isFollowed) return
        isFollowed = false
        this.#followers -= 1
        if (this.#followers > 0) return
        if (this.#own.remove(FOLLOWER)) this.#hasFollowerSlot = false
        else {
          this.#followerLeft ??= Promise.withResolvers()
          await Promise.race([
            this.#followerLeft.promise,
            sleep(FOLLOWER_LEAVES_MS, undefined, { ref: false }),
          ])
        }
      },
    }
  }

  /** Gives back what no call uses, since another process has come. */
  giveBackIdle(): void {
    for (const [slot, borrowed] of this.#borrowed) {
      clearTimeout(borrowed.idle ?? undefined)
      borrowed.idle = null
      if (this.#own.remove(slot)) void this.#giveBack(slot, borrowed, false)
    }
  }

  /** Decides about a slot that a call has left. */
  #stays(slot: SlotNumber): boolean {
    if (slot === FOLLOWER) return this.#staysFollower()
    const borrowed = this.#borrowed.get(slot)
    if (!borrowed) return false
    if (borrowed.instanceId !== this.#sharing.instanceId()) {
      this.#forget(slot)
      this.#borrowSoon()
      return false
    }
    borrowed.leftAt = performance.now()
    if (!this.#sharing.isAlone() && borrowed.leftAt - borrowed.since >= OFFER_MS) {
      void this.#giveBack(slot, borrowed, this.#own.isWanted(slot))
      return false
    }
    this.#awaitIdle(slot, borrowed)
    return true
  }

  #staysFollower(): boolean {
    if (this.#followers > 0) return true
    this.#hasFollowerSlot = false
    this.#followerLeft?.resolve()
    this.#followerLeft = null
    this.#borrowSoon()
    return false
  }

  #borrowSoon(): void {
    if (!this.#isBorrowing) void this.#borrow()
  }

  /** Slots that calls wait for, and that this process neither has nor gives back. */
  #missing(): BorrowedSlot[] {
    return BORROWED.filter(slot => !this.#borrowed.has(slot) && this.#own.isWanted(slot))
  }

  /** Borrows slots until calls wait only for each other. Never rejects. */
  async #borrow(): Promise<void> {
    this.#isBorrowing = true
    let waitMs = FIRST_WAIT_MS
    for (let slots = this.#missing(); slots.length > 0; slots = this.#missing())
      if (await this.#take(slots)) waitMs = FIRST_WAIT_MS
      else {
        // Processes that wait do not always ask at the same time.
        await sleep(waitMs * (0.5 + Math.random()), undefined, { ref: false })
        waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)
      }
    this.#isBorrowing = false
  }

  /** @returns whether a slot was free */
  async #take(slots: readonly BorrowedSlot[]): Promise<boolean> {
    const { table } = this.#sharing
    const instanceId = this.#sharing.instanceId()
    if (instanceId === null) return false
    let taken
    try {
      taken = await table.take({ name: this.#name, slots, count: this.#own.waitingCount, instanceId })
    } catch (error) {
      this.#own.rejectWaiting(error)
      // They may have been taken nevertheless.
      for (const slot of slots) void this.#giveBack(slot, this.#note(slot, instanceId), false)
      return false
    }
    if (taken.heldUpSeconds > 0) {
      this.#sharing.onHeldUp(this.#name, taken.heldUpSeconds)
      this.#own.rejectWaiting(heldUp(taken.heldUpSeconds))
    }
    for (const slot of taken.slots) {
      const borrowed = this.#note(slot, instanceId)
      this.#own.add(slot)
      this.#awaitIdle(slot, borrowed)
    }
    return taken.slots.length > 0
  }

  #note(slot: BorrowedSlot, instanceId: string): Borrowed {
    const at = performance.now()
    const borrowed = { instanceId, since: at, leftAt: at, idle: null }
    this.#borrowed.set(slot, borrowed)
    return borrowed
  }

  #forget(slot: BorrowedSlot): void {
    clearTimeout(this.#borrowed.get(slot)?.idle ?? undefined)
    this.#borrowed.delete(slot)
  }

  #awaitIdle(slot: BorrowedSlot, borrowed: Borrowed): void {
    if (borrowed.idle) return
    const keepMs = this.#sharing.isAlone() ? KEEP_ALONE_MS : KEEP_MS
    const end = () => {
      borrowed.idle = null
      if (this.#borrowed.get(slot) !== borrowed || !this.#own.isFree(slot)) return
      if (performance.now() - borrowed.leftAt < keepMs) return this.#awaitIdle(slot, borrowed)
      this.#own.remove(slot)
      void this.#giveBack(slot, borrowed, false)
    }
    borrowed.idle = setTimeout(end, Math.max(1, keepMs - (performance.now() - borrowed.leftAt)))
    borrowed.idle.unref()
  }

  /** Gives back a slot that no call may use any more, or offers it to others. */
  async #giveBack(slot: BorrowedSlot, borrowed: Borrowed, isOffered: boolean): Promise<void> {
    const { instanceId } = borrowed
    for (let tries = 0; tries < RETURN_TRIES_MAX && instanceId === this.#sharing.instanceId(); tries++)
      try {
        // An answer that was lost leaves open who has the slot, so then it is given back.
        const given = { name: this.#name, slot, instanceId, isOffered: isOffered && tries === 0 }
        if (await this.#sharing.table.giveBack(given)) break
        borrowed.since = performance.now()
        borrowed.leftAt = borrowed.since
        this.#own.add(slot)
        return this.#awaitIdle(slot, borrowed)
      } catch {
        await sleep(RETRY_MS, undefined, { ref: false })
      }
    this.#forget(slot)
    if (this.#own.isWanted(slot)) this.#borrowSoon()
  }
}

function heldUp(seconds: number): ProviderFailure {
  return new ProviderFailure('throttled', 'Microsoft Graph refuses calls to the mailbox for the moment.', {
    retryAfterSeconds: Math.ceil(seconds),
    isBusy: true,
  })
}
