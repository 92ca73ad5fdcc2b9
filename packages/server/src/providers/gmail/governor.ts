import { type Share, whole } from '../../kit/share.ts'
import { ProviderFailure } from '../failure.ts'

/** `background`: reading older mail, storing bodies. `prompt`: what somebody waits for, and new mail. */
export type Urgency = 'prompt' | 'background'
/** Whose quota it is: that of one user, or that of the project, which all of its users share. */
export type QuotaOwner = 'user' | 'project'

const WINDOW_SECONDS = 60
/** The part of a quota that background work may use. */
const BACKGROUND_SHARE = 0.8
/** Left for what is asked beside a batch, such as lists of ids and of drafts. */
const BESIDE_BATCH_UNITS = 20
/** A user whose units nobody has used for this long is forgotten. */
const FORGET_MS = 10 * 60_000
const USERS_BEFORE_SWEEP = 1_000
/** If the provider asks for a pause without naming a time, it begins with this one and doubles. */
const FIRST_PAUSE_SECONDS = 2
const LONGEST_PAUSE_SECONDS = 64
/** Without a refusal for this long, the next pause is a first one. */
const CALM_MS = 60_000

export interface GovernorOptions {
  userUnitsPerMinute: number
  projectUnitsPerMinute: number
  /** What this process may use of a quota, which all processes share. */
  share?: Share
  /** Milliseconds of a monotonic clock. */
  now?: () => number
}

/** The units of one user, as one account uses them. */
export interface UserQuota {
  /** Throws `throttled` with the seconds until there is room for the units. Nobody waits here. */
  take(units: number, urgency: Urgency): void
  /** Throws as `take` does, and takes nothing. */
  requireRoom(units: number, urgency: Urgency): void
  /** The provider refused a call for its rate. @returns the seconds after which it may be asked again */
  refused(retryAfterSeconds: number | null, owner: QuotaOwner): number
  /** The seconds that background work takes at least for the units. */
  secondsFor(units: number): number
  /**
   * What one batch may cost, so that in the same minute the quota suffices for as much again, and for lists: what is asked
   * about its answer. A part that costs more is asked for alone.
   */
  readonly batchUnitsMax: number
}

/**
 * Keeps what this process asks of Gmail within its share of the quotas of each user and project in any 60 seconds. The
 * part that background work leaves free lets prompt calls overtake it.
 */
export class QuotaGovernor {
  readonly #options: Required<GovernorOptions>
  readonly #projects = new Map<string, Usage>()
  readonly #users = new Map<string, Usage>()

  constructor(options: GovernorOptions) {
    this.#options = { now: () => performance.now(), share: whole, ...options }
  }

  /** The quota of a user of a project. Accounts of several tenants may be the same user. */
  userOf(project: string, user: string): UserQuota {
    const { userUnitsPerMinute, projectUnitsPerMinute, share, now } = this.#options
    const key = `${project} ${user}`
    const usageOf = (owner: QuotaOwner) =>
      owner === 'user'
        ? usageIn(this.#users, key, () => share(userUnitsPerMinute))
        : usageIn(this.#projects, project, () => share(projectUnitsPerMinute))
    const findRoom = (units: number, urgency: Urgency) => {
      const at = now()
      this.#sweep(at)
      const usages = [usageOf('user'), usageOf('project')]
      const waitMs = Math.max(...usages.map(usage => usage.waitFor(units, urgency, at)))
      if (waitMs > 0) throw spent(waitMs)
      return () => {
        for (const usage of usages) usage.add(units, at)
      }
    }
    return {
      requireRoom: findRoom,
      take: (units, urgency) => findRoom(units, urgency)(),
      secondsFor: units => (units / (share(userUnitsPerMinute) * BACKGROUND_SHARE)) * WINDOW_SECONDS,
      get batchUnitsMax() {
        const units = Math.min(share(userUnitsPerMinute), share(projectUnitsPerMinute))
        return (units * BACKGROUND_SHARE - BESIDE_BATCH_UNITS) / 2
      },
      refused: (seconds, owner) => usageOf(owner).pause(seconds, now()),
    }
  }

  #sweep(at: number): void {
    if (this.#users.size < USERS_BEFORE_SWEEP) return
    for (const [key, usage] of this.#users) if (usage.isIdle(at)) this.#users.delete(key)
  }
}

function usageIn(usages: Map<string, Usage>, name: string, perMinute: () => number): Usage {
  const usage = usages.get(name) ?? new Usage(perMinute)
  usages.set(name, usage)
  return usage
}

function spent(waitMs: number): ProviderFailure {
  return new ProviderFailure('throttled', 'The quota of calls to Gmail is used up for the moment.', {
    retryAfterSeconds: Math.ceil(waitMs / 1_000),
    isBusy: true,
  })
}

/** Units that were used in the last 60 seconds. */
class Usage {
  readonly #perMinute: () => number
  /** One entry for each second in which something was used. */
  #entries: Array<{ second: number; units: number }> = []
  #total = 0
  #usedAt = 0
  #pausedUntil = 0
  #pauseSeconds = 0

  constructor(perMinute: () => number) {
    this.#perMinute = perMinute
  }

  waitFor(units: number, urgency: Urgency, at: number): number {
    if (at < this.#pausedUntil) return this.#pausedUntil - at
    this.#prune(at)
    const perMinute = this.#perMinute()
    const limit = urgency === 'background' ? perMinute * BACKGROUND_SHARE : perMinute
    // A call that costs more than there ever is goes when nothing else was used.
    let over = this.#total + Math.min(units, limit) - limit
    for (const entry of this.#entries) {
      if (over <= 0) return 0
      over -= entry.units
      if (over <= 0) return (entry.second + WINDOW_SECONDS + 1) * 1_000 - at
    }
    return 0
  }

  add(units: number, at: number): void {
    const second = Math.floor(at / 1_000)
    const last = this.#entries.at(-1)
    if (last?.second === second) last.units += units
    else this.#entries.push({ second, units })
    this.#total += units
    this.#usedAt = at
  }

  pause(seconds: number | null, at: number): number {
    const isCalm = at - this.#pausedUntil > CALM_MS
    const doubled = isCalm ? FIRST_PAUSE_SECONDS : Math.min(this.#pauseSeconds * 2, LONGEST_PAUSE_SECONDS)
    // Calls that were under way together are refused together, and count once.
    if (at >= this.#pausedUntil) this.#pauseSeconds = Math.max(doubled, FIRST_PAUSE_SECONDS)
    const pause = seconds ?? this.#pauseSeconds
    this.#pausedUntil = Math.max(this.#pausedUntil, at + pause * 1_000)
    this.#usedAt = at
    return Math.ceil(Math.round(this.#pausedUntil - at) / 1_000)
  }

  isIdle(at: number): boolean {
    return at - this.#usedAt > FORGET_MS && at > this.#pausedUntil
  }

  #prune(at: number): void {
    const oldest = Math.floor(at / 1_000) - WINDOW_SECONDS
    while (this.#entries[0] && this.#entries[0].second < oldest) this.#total -= this.#entries.shift()!.units
  }
}
