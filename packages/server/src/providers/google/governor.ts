import { ProviderFailure } from '../failure.ts'
import type { SharedUse } from '../http/shared-use.ts'
import { Usage } from '../http/usage.ts'

/** `background`: reading older mail, storing bodies. `prompt`: requests for which a person waits, and new mail. */
export type Urgency = 'prompt' | 'background'
/** The owner of a quota: one user, or the project, whose quota all of its users share. */
export type QuotaOwner = 'user' | 'project'

const WINDOW_SECONDS = 60
const WINDOW = { seconds: WINDOW_SECONDS, bucketSeconds: 1 }
/** The part of a quota that background work may use. */
const BACKGROUND_SHARE = 0.8
/** Left for requests beside a batch, such as lists of ids and of drafts. */
const BESIDE_BATCH_UNITS = 20
/** The part of a quota that processes use without asking each other, divided equally. Polls need no more. */
const UNASKED_SHARE = 0.05
const USERS_BEFORE_SWEEP = 1_000

export interface GovernorOptions {
  /** The API whose quotas these are; `Gmail` by default. Each API has quotas of its own. */
  api?: string
  userUnitsPerMinute: number
  /** `Infinity`: not limited, so not counted either. */
  projectUnitsPerMinute: number
  /** The processes that share the quotas; this one is alone by default. */
  sharing?: { countProcesses(): number; use: SharedUse } | null
  /** Milliseconds of a monotonic clock. */
  now?: () => number
}

/** The units of one user, as one account uses them. */
export interface UserQuota {
  /** Rejects with `throttled` and the seconds until there is room for the units. Never waits for room. */
  take(units: number, urgency: Urgency): Promise<void>
  /** Rejects as `take` does, and takes nothing. */
  requireRoom(units: number, urgency: Urgency): Promise<void>
  /** Records that the provider refused a call for its rate. @returns the seconds after which it may be called again */
  refused(retryAfterSeconds: number | null, owner: QuotaOwner): number
  /** The seconds that background work takes at least for the units. */
  secondsFor(units: number): number
  /**
   * Units that one batch may cost, so that in the same minute the quota suffices for as much again, and for lists: the
   * requests about its answer. A part that costs more is sent alone.
   */
  readonly batchUnitsMax: number
}

/**
 * Keeps the requests of all processes to an API of Google within the quotas of each user and project in any 60 seconds. A
 * process that is alone counts for itself. Several have a small part each, which they use at will; units beyond it come from
 * the rest, which they count together. The part that background work leaves free lets prompt calls overtake it.
 */
export class QuotaGovernor {
  readonly #options: Required<GovernorOptions>
  readonly #projects = new Map<string, Usage>()
  readonly #users = new Map<string, Usage>()
  /** The most processes that there were within a window, whose use still counts. */
  #most = { processes: 1, until: Number.NEGATIVE_INFINITY }

  constructor(options: GovernorOptions) {
    this.#options = { api: 'Gmail', now: () => performance.now(), sharing: null, ...options }
  }

  /** The quota of a user of a project. Accounts of several tenants may be the same user. */
  userOf(project: string, user: string): UserQuota {
    const { api, userUnitsPerMinute, projectUnitsPerMinute, now } = this.#options
    const ofProject = `${api} ${project}`
    const name = `${ofProject} ${user}`
    const usageOf = (owner: QuotaOwner) =>
      owner === 'user'
        ? usageIn(this.#users, { name, unitsMax: userUnitsPerMinute })
        : usageIn(this.#projects, { name: ofProject, unitsMax: projectUnitsPerMinute })
    const ask = (units: number, urgency: Urgency, isTaken: boolean) =>
      this.#ask([usageOf('user'), usageOf('project')], units, urgency, isTaken)
    const perMinute = (units: number) => this.#partsAt(now(), units).asked
    return {
      take: (units, urgency) => ask(units, urgency, true),
      requireRoom: (units, urgency) => ask(units, urgency, false),
      secondsFor: units => (units / (perMinute(userUnitsPerMinute) * BACKGROUND_SHARE)) * WINDOW_SECONDS,
      get batchUnitsMax() {
        const units = perMinute(Math.min(userUnitsPerMinute, projectUnitsPerMinute))
        return (units * BACKGROUND_SHARE - BESIDE_BATCH_UNITS) / 2
      },
      refused: (seconds, owner) => usageOf(owner).pause(seconds, now()),
    }
  }

  async #ask(usages: readonly Usage[], units: number, urgency: Urgency, isTaken: boolean): Promise<void> {
    const at = this.#options.now()
    this.#sweep(at)
    const paused = Math.max(...usages.map(usage => usage.pausedFor(at)))
    if (paused > 0) throw this.#spent(paused)
    const { sharing } = this.#options
    const isAlone = !sharing || this.#processesAt(at) === 1
    if (isAlone) for (const usage of usages) usage.countAsked()
    const share = urgency === 'background' ? BACKGROUND_SHARE : 1
    const limited = usages
      .filter(({ unitsMax }) => Number.isFinite(unitsMax))
      .map(usage => {
        const { own, asked } = this.#partsAt(at, usage.unitsMax)
        return { usage, own: own * share, asked: asked * share, mayKeep: own }
      })
    // A call that costs more than there ever is goes when nothing else was used. So it is no call for a small part.
    const isSmall = isAlone || limited.every(({ own }) => units <= own)
    const waitMs = isSmall ? Math.max(...limited.map(({ usage, own }) => usage.waitFor(units, own, at))) : 1
    if (waitMs === 0) {
      if (isTaken) for (const { usage } of limited) usage.add(units, at)
      return
    }
    if (isAlone) throw this.#spent(waitMs)
    const asks = limited.map(({ usage, asked, mayKeep }) => ({
      name: usage.name,
      unitsMax: asked,
      usedUnits: usage.takeBeyond(mayKeep, at),
    }))
    let sharedWaitMs
    try {
      sharedWaitMs = await sharing.use.take(asks, units, isTaken)
    } catch (error) {
      for (const [index, { usedUnits }] of asks.entries())
        if (usedUnits > 0) limited[index]!.usage.add(usedUnits, at)
      throw error
    }
    const isAdded = isTaken && sharedWaitMs === 0
    const answeredAt = this.#options.now()
    for (const [index, { usedUnits }] of asks.entries())
      limited[index]!.usage.addAsked(usedUnits + (isAdded ? units : 0), answeredAt)
    if (sharedWaitMs > 0) throw this.#spent(sharedWaitMs)
  }

  /** The part of a quota that this process uses at will, and the part that it shares with others. */
  #partsAt(at: number, units: number): { own: number; asked: number } {
    const processes = this.#processesAt(at)
    if (processes === 1) return { own: units, asked: units }
    const own = Math.floor((units * UNASKED_SHARE) / processes)
    return { own, asked: units - own * processes }
  }

  /** The units of a process that is gone count for one window more. */
  #processesAt(at: number): number {
    const processes = this.#options.sharing?.countProcesses() ?? 1
    if (processes >= this.#most.processes || at >= this.#most.until)
      this.#most = { processes, until: at + (WINDOW_SECONDS + 1) * 1_000 }
    return this.#most.processes
  }

  #spent(waitMs: number): ProviderFailure {
    const message = `The quota of calls to ${this.#options.api} is used up for the moment.`
    return new ProviderFailure('throttled', message, {
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
      isBusy: true,
    })
  }

  #sweep(at: number): void {
    if (this.#users.size < USERS_BEFORE_SWEEP) return
    for (const [name, usage] of this.#users) if (usage.isIdle(at)) this.#users.delete(name)
  }
}

function usageIn(usages: Map<string, Usage>, quota: { name: string; unitsMax: number }): Usage {
  const usage = usages.get(quota.name) ?? new Usage({ ...quota, window: WINDOW })
  usages.set(quota.name, usage)
  return usage
}
