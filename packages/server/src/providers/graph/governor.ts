import { ProviderFailure } from '../failure.ts'
import type { QuotaAsk, SharedUse } from '../http/shared-use.ts'
import { Usage, type Window } from '../http/usage.ts'
import type { Urgency } from './api.ts'
import { KeptByName } from './kept-by-name.ts'
import type { MailboxSlots } from './slots.ts'

/**
 * The window of the quota of one app and mailbox (learn.microsoft.com/graph/throttling-limits, Outlook service limits).
 */
export const CALLS_WINDOW: Window = { seconds: 600, bucketSeconds: 10 }
const CALLS_MAX = 10_000
/** The part of the quota that background work may use. */
const BACKGROUND_SHARE = 0.8
/** The part of the quota that all but interactive calls may use. */
const PROMPT_SHARE = 0.95
/** The part of a quota that processes use without asking each other, divided equally. Polls need no more. */
const UNASKED_SHARE = 0.1

/** The calls to one mailbox, as one account makes them. */
export interface MailboxQuota {
  /** Rejects with `throttled` and the seconds until there is room for the calls. Never waits for room. */
  take(calls: number, urgency: Urgency): Promise<void>
  /**
   * Waits for the right to one request under way. Disposing gives it back. Rejects with `unavailable` if the signal ends,
   * and with `throttled` if the wait is too long.
   */
  enter(urgency: Urgency, signal?: AbortSignal): Promise<Disposable>
  /** Records that the provider refused a call for its rate. @returns the seconds after which it may be called again */
  refused(retryAfterSeconds: number | null): number
  /** The seconds that background work takes at least for the calls. */
  secondsFor(calls: number): number
}

export interface GraphGovernorOptions {
  /** Calls in 600 seconds of each app and mailbox; 10,000 by default. */
  callsMax?: number
  /** The processes that share the quotas; this one is alone by default. */
  sharing?: { countProcesses(): number; use: SharedUse } | null
  /** Milliseconds of a monotonic clock. */
  now?: () => number
}

/**
 * Keeps the calls of all processes to each mailbox within its quota. A process that is alone counts for itself. Several
 * have a small part each, which they use at will; calls beyond it come from the rest, which they count together.
 */
export class GraphGovernor {
  readonly #options: Required<GraphGovernorOptions>
  readonly #mailboxes: KeptByName<Usage>
  /** The most processes that there were within a window, whose use still counts. */
  #most = { processes: 1, until: Number.NEGATIVE_INFINITY }

  constructor(options: GraphGovernorOptions = {}) {
    this.#options = { callsMax: CALLS_MAX, sharing: null, now: () => performance.now(), ...options }
    const { callsMax, now } = this.#options
    this.#mailboxes = new KeptByName(
      name => new Usage({ name, unitsMax: callsMax, window: CALLS_WINDOW }),
      usage => usage.isIdle(now()),
    )
  }

  /**
   * The quota of an app and a mailbox, which the name stands for. Accounts of several tenants may have the same mailbox.
   */
  quotaOf(owner: string, slots: MailboxSlots): MailboxQuota {
    const { callsMax, now } = this.#options
    const usage = () => this.#usageOf(owner)
    return {
      take: (calls, urgency) => this.#take(usage(), calls, urgency),
      enter: (urgency, signal) => slots.enter(urgency, signal),
      refused(seconds) {
        const pauseSeconds = usage().pause(seconds, now())
        slots.holdUp?.(pauseSeconds)
        return pauseSeconds
      },
      secondsFor: calls =>
        (calls / (this.#partsAt(now(), callsMax).asked * BACKGROUND_SHARE)) * CALLS_WINDOW.seconds,
    }
  }

  /** Lets no call to a mailbox begin for this long, since Graph has refused one of another process. */
  holdUp(owner: string, seconds: number): void {
    this.#usageOf(owner).pause(seconds, this.#options.now())
  }

  async #take(usage: Usage, calls: number, urgency: Urgency): Promise<void> {
    const at = this.#options.now()
    const paused = usage.pausedFor(at)
    if (paused > 0) throw spent(paused)
    const { sharing } = this.#options
    const isAlone = !sharing || this.#processesAt(at) === 1
    if (isAlone) usage.countAsked()
    const { own, asked } = this.#partsAt(at, usage.unitsMax)
    const share = shareOf(urgency)
    const isSmall = isAlone || calls <= own * share
    const waitMs = isSmall ? usage.waitFor(calls, own * share, at) : 1
    if (waitMs === 0) return usage.add(calls, at)
    if (isAlone) throw spent(waitMs)
    const ask: QuotaAsk = { name: usage.name, unitsMax: asked * share, usedUnits: usage.takeBeyond(own, at) }
    let sharedWaitMs
    try {
      sharedWaitMs = await sharing.use.take([ask], calls, true)
    } catch (error) {
      if (ask.usedUnits > 0) usage.add(ask.usedUnits, at)
      throw error
    }
    usage.addAsked(ask.usedUnits + (sharedWaitMs === 0 ? calls : 0), this.#options.now())
    if (sharedWaitMs > 0) throw spent(sharedWaitMs)
  }

  /** The part of a quota that this process uses at will, and the part that it shares with others. */
  #partsAt(at: number, calls: number): { own: number; asked: number } {
    const processes = this.#processesAt(at)
    if (processes === 1) return { own: calls, asked: calls }
    const own = Math.floor((calls * UNASKED_SHARE) / processes)
    return { own, asked: calls - own * processes }
  }

  /** The calls of a process that is gone count for one window more. */
  #processesAt(at: number): number {
    const processes = this.#options.sharing?.countProcesses() ?? 1
    const windowMs = (CALLS_WINDOW.seconds + CALLS_WINDOW.bucketSeconds) * 1_000
    if (processes >= this.#most.processes || at >= this.#most.until)
      this.#most = { processes, until: at + windowMs }
    return this.#most.processes
  }

  #usageOf(owner: string): Usage {
    return this.#mailboxes.of(`graph ${owner}`)
  }
}

function shareOf(urgency: Urgency): number {
  if (urgency === 'interactive') return 1
  return urgency === 'prompt' ? PROMPT_SHARE : BACKGROUND_SHARE
}

function spent(waitMs: number): ProviderFailure {
  return new ProviderFailure(
    'throttled',
    'The quota of calls to Microsoft Graph is used up for the moment.',
    {
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
      isBusy: true,
    },
  )
}
