/** A quota is forgotten if no units of it are used for this long. */
const FORGET_MS = 10 * 60_000
/** A pause for which the provider names no time begins with this one and doubles. */
const FIRST_PAUSE_SECONDS = 2
const LONGEST_PAUSE_SECONDS = 64
/** Without a refusal for this long, the next pause is a first one. */
const CALM_MS = 60_000

/** The time in which units count, and the seconds that are counted together. */
export interface Window {
  seconds: number
  bucketSeconds: number
}

interface Entry {
  /** The first second of the bucket. */
  second: number
  units: number
}

/** The units of a quota that this process used within its window. */
export class Usage {
  readonly name: string
  /** Units that all processes together may use within the window. */
  readonly unitsMax: number
  readonly #window: Window
  /** Units of the own part that were used, by the first second of their bucket. */
  #entries: Entry[] = []
  #total = 0
  /** Units of the shared part that were used, in the same way. They count here, too, once this process is alone. */
  #asked: Entry[] = []
  #usedAt = 0
  #pausedUntil = 0
  #pauseSeconds = 0

  constructor({ name, unitsMax, window }: { name: string; unitsMax: number; window: Window }) {
    this.name = name
    this.unitsMax = unitsMax
    this.#window = window
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
      if (over <= 0) return (entry.second + this.#window.seconds + this.#window.bucketSeconds) * 1_000 - at
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
    this.#addTo(this.#entries, units, at)
    this.#total += units
    this.#usedAt = at
  }

  addAsked(units: number, at: number): void {
    if (units === 0) return
    this.#addTo(this.#asked, units, at)
    this.#pruneEntries(this.#asked, at)
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
    return at - this.#usedAt > Math.max(FORGET_MS, this.#window.seconds * 1_000) && at > this.#pausedUntil
  }

  #prune(at: number): void {
    this.#total -= this.#pruneEntries(this.#entries, at)
  }

  #addTo(entries: Entry[], units: number, at: number): void {
    const { bucketSeconds } = this.#window
    const second = Math.floor(at / 1_000 / bucketSeconds) * bucketSeconds
    const last = entries.at(-1)
    if (last?.second === second) last.units += units
    else entries.push({ second, units })
  }

  /** Removes entries that no longer count. @returns their units */
  #pruneEntries(entries: Entry[], at: number): number {
    const { seconds, bucketSeconds } = this.#window
    const oldest = Math.floor(at / 1_000) - seconds - bucketSeconds + 1
    let units = 0
    while (entries[0] && entries[0].second < oldest) units += entries.shift()!.units
    return units
  }
}
