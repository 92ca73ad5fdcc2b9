import { ProviderFailure } from '../failure.ts'

/** `background`: reading older mail, storing bodies. `prompt`: requests for which a person waits, and new mail. */
export type Urgency = 'prompt' | 'background'
/** The owner of a quota: one user, or the project, whose quota all of its users share. */
export type QuotaOwner = 'user' | 'project'

const WINDOW_SECONDS = 60
/** The part of a quota that background work may use. */
const BACKGROUND_SHARE = 0.8
/** Left for requests beside a batch, such as lists of ids and of drafts. */
const BESIDE_BATCH_UNITS = 20
/** The part of a quota that processes use without asking each other, divided equally. Polls need no more. */
const UNASKED_SHARE = 0.05
/** A user is forgotten if no units are used for this long. */
const FORGET_MS = 10 * 60_000
const USERS_BEFORE_SWEEP = 1_000
/** A pause for which the provider names no time begins with this one and doubles. */
const FIRST_PAUSE_SECONDS = 2
const LONGEST_PAUSE_SECONDS = 64
/** Without a refusal for this long, the next pause is a first one. */
const CALM_MS = 60_000

/** A request for units of a quota that several processes use. */
export interface QuotaAsk {
  name: string
  unitsMax: number
  /** Units that this process has used of its own part, which count as shared from now on. */
  usedUnits: number
}

/** Counts the units that all processes use in any 60 seconds. */
export interface SharedUse {
  /**
   * Adds the units to all quotas, or to none if there is no room in one of them. Without `isTaken` it only checks for
   * room.
   * @returns milliseconds until there may be room; 0 if there is
   */
  take(quotas: readonly QuotaAsk[], units: number, isTaken: boolean): Promise<number>
}

export interface GovernorOptions {
  userUnitsPerMinute: number
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
 * Keeps the requests of all processes to Gmail within the quotas of each user and project in any 60 seconds. A process
 * that is alone counts for itself. Several have a small part each, which they use at will; units beyond it come from
 * the rest, which they count together. The part that background work leaves free lets prompt calls overtake it.
 */
export class QuotaGovernor {
  readonly #options: Required<GovernorOptions>
  readonly #projects = new Map<string, Usage>()
  readonly #users = new Map<string, Usage>()
  /** The most processes that there were within a window, whose use still counts. */
  #most = { processes: 1, until: Number.NEGATIVE_INFINITY }

  constructor(options: GovernorOptions) {
    this.#options = { now: () => performance.now(), sharing: null, ...options }
  }

  /** The quota of a user of a project. Accounts of several tenants may be the same user. */
  userOf(project: string, user: string): UserQuota {
    const { userUnitsPerMinute, projectUnitsPerMinute, now } = this.#options
    const name = `${project} ${user}`
    const usageOf = (owner: QuotaOwner) =>
      owner === 'user'
        ? usageIn(this.#users, { name, perMinute: userUnitsPerMinute })
        : usageIn(this.#projects, { name: project, perMinute: projectUnitsPerMinute })
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
    if (paused > 0) throw spent(paused)
    const { sharing } = this.#options
    const isAlone = !sharing || this.#processesAt(at) === 1
    if (isAlone) for (const usage of usages) usage.countAsked()
    const share = urgency === 'background' ? BACKGROUND_SHARE : 1
    const limited = usages.map(usage => {
      const { own, asked } = this.#partsAt(at, usage.perMinute)
      return { usage, own: own * share, asked: asked * share, mayKeep: own }
    })
    // A call that costs more than there ever is goes when nothing else was used. So it is no call for a small part.
    const isSmall = isAlone || limited.every(({ own }) => units <= own)
    const waitMs = isSmall ? Math.max(...limited.map(({ usage, own }) => usage.waitFor(units, own, at))) : 1
    if (waitMs === 0) {
      if (isTaken) for (const usage of usages) usage.add(units, at)
      return
    }
    if (isAlone) throw spent(waitMs)
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
        if (usedUnits > 0) usages[index]!.add(usedUnits, at)
      throw error
    }
    const isAdded = isTaken && sharedWaitMs === 0
    const answeredAt = this.#options.now()
    for (const [index, { usedUnits }] of asks.entries())
      usages[index]!.addAsked(usedUnits + (isAdded ? units : 0), answeredAt)
    if (sharedWaitMs > 0) throw spent(sharedWaitMs)
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

  #sweep(at: number): void {
    if (this.#users.size < USERS_BEFORE_SWEEP) return
    for (const [name, usage] of this.#users) if (usage.isIdle(at)) this.#users.delete(name)
  }
}

function usageIn(usages: Map<string, Usage>, quota: { name: string; perMinute: number }): Usage {
  const usage = usages.get(quota.name) ?? new Usage(quota)
  usages.set(quota.name, usage)
  return usage
}

function spent(waitMs: number): ProviderFailure {
  return new ProviderFailure('throttled', 'The quota of calls to Gmail is used up for the moment.', {
    retryAfterSeconds: Math.ceil(waitMs / 1_000),
    isBusy: true,
  })
}

interface Entry {
  second: number
  units: number
}

/** The units of a quota that this process used in the last 60 seconds. */
class Usage {
  readonly name: string
  /** Units that all processes together may use. */
  readonly perMinute: number
  /** Units of the own part that were used, by seconds. */
  #entries: Entry[] = []
  #total = 0
  /** Units of the shared part that were used, by seconds. They count here, too, once this process is alone. */
  #asked: Entry[] = []
  #usedAt = 0
  #pausedUntil = 0
  #pauseSeconds = 0

  constructor({ name, perMinute }: { name: string; perMinute: number }) {
    this.name = name
    this.perMinute = perMinute
  }

  pausedFor(at: number): number {
    return Math.max(0, this.#pausedUntil - at)
  }

  /** Milliseconds until the units are within the limit. */
  waitFor(units: number, limit: number, at: number): number {
    this.#prune(at)
    // A call that costs more than there ever is goes when nothing else was used.
    let over = this.#total + Math.min(units, limit) - limit
    for (const entry of this.#entries) {
      if (over <= 0) return 0
      over -= entry.units
      if (over <= 0) return (entry.second + WINDOW_SECONDS + 1) * 1_000 - at
    }
    return 0
  }

  /**
   * Forgets and returns the units in use if they are more than this, as before other processes came, so that they are
   * shared with these.
   */
  takeBeyond(limit: number, at: number): number {
    this.#prune(at)
    if (this.#total <= limit) return 0
    const units = this.#total
    this.#entries = []
    this.#total = 0
    return units
  }

  add(units: number, at: number): void {
    addTo(this.#entries, units, at)
    this.#total += units
    this.#usedAt = at
  }

  addAsked(units: number, at: number): void {
    if (units === 0) return
    addTo(this.#asked, units, at)
    prune(this.#asked, at)
    this.#usedAt = at
  }

  /** Makes shared units count as used of the own part from now on. */
  countAsked(): void {
    if (this.#asked.length === 0) return
    for (const { units } of this.#asked) this.#total += units
    this.#entries = [...this.#entries, ...this.#asked].toSorted((one, other) => one.second - other.second)
    this.#asked = []
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
    this.#total -= prune(this.#entries, at)
  }
}

function addTo(entries: Entry[], units: number, at: number): void {
  const second = Math.floor(at / 1_000)
  const last = entries.at(-1)
  if (last?.second === second) last.units += units
  else entries.push({ second, units })
}

/** Removes entries that no longer count. @returns their units */
function prune(entries: Entry[], at: number): number {
  const oldest = Math.floor(at / 1_000) - WINDOW_SECONDS
  let units = 0
  while (entries[0] && entries[0].second < oldest) units += entries.shift()!.units
  return units
}
