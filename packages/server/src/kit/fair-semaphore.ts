/** Limits how many works run at once, for several parties whose works take turns. */
export interface FairSemaphore {
  /** Runs the work when it gets a permit. Returns null at once if too many are waiting, of this party or of all. */
  take<T>(party: string, work: () => Promise<T>): Promise<T> | null
}

export interface FairLimits {
  atOnce: number
  /** How many of the permits are kept for parties that have held few lately. Default: none. */
  kept?: number
  /** Default: any number. */
  waitingMax?: number
  waitingOfOneMax?: number
  /** Monotonic time. Default: that of the process. */
  now?: () => number
}

/** A party may hold one permit for so long, or several for as long together, and has still held few. */
const LITTLE_MS = 1000
/** The part of the elapsed time that a party may hold a permit for good. */
const LITTLE_SHARE = 0.1
/** A party has held few again this time after it has held as many as it could. */
const FORGIVEN_MS = 10_000
const HELD_MS_MAX = LITTLE_MS + FORGIVEN_MS * LITTLE_SHARE
/** Parties that are remembered although they hold nothing. */
const PARTIES_MAX = 1000

interface Use {
  running: number
  /** How long the party has held permits, less what is forgiven, at the last change. */
  heldMs: number
  changedAt: number
}

export function openFairSemaphore({
  atOnce,
  kept = 0,
  waitingMax = Infinity,
  waitingOfOneMax = Infinity,
  now = () => performance.now(),
}: FairLimits): FairSemaphore {
  /** By party; the party that is next stands first. */
  const waiting = new Map<string, Array<() => void>>()
  const uses = new Map<string, Use>()
  let waitingCount = 0
  let running = 0

  function heldMs({ running: count, heldMs: before, changedAt }: Use): number {
    const held = before + (now() - changedAt) * (count - LITTLE_SHARE)
    return Math.min(HELD_MS_MAX, Math.max(0, held))
  }

  function note(party: string, change: 1 | -1): void {
    const use = uses.get(party) ?? { running: 0, heldMs: 0, changedAt: now() }
    uses.set(party, { running: use.running + change, heldMs: heldMs(use), changedAt: now() })
    if (uses.size <= PARTIES_MAX) return
    for (const [name, one] of uses) if (one.running === 0 && heldMs(one) === 0) uses.delete(name)
  }

  function mayBegin(party: string): boolean {
    if (running < atOnce - kept) return true
    if (running >= atOnce) return false
    const use = uses.get(party)
    return use === undefined || heldMs(use) <= LITTLE_MS
  }

  function begin(party: string): void {
    running++
    note(party, 1)
  }

  async function run<T>(party: string, work: () => Promise<T>, isFree: boolean): Promise<T> {
    if (isFree) begin(party)
    else {
      waitingCount++
      await new Promise<void>(resolve => {
        const line = waiting.get(party)
        if (line) line.push(resolve)
        else waiting.set(party, [resolve])
      })
    }
    try {
      return await work()
    } finally {
      running--
      note(party, -1)
      passOn()
    }
  }

  /** Gives what is free to those that wait. */
  function passOn(): void {
    for (const [party, line] of waiting) {
      if (running >= atOnce) return
      if (!mayBegin(party)) continue
      waiting.delete(party)
      const next = line.shift()
      if (line.length > 0) waiting.set(party, line)
      waitingCount--
      begin(party)
      next?.()
    }
  }

  return {
    take(party, work) {
      const line = waiting.get(party)
      const isFree = line === undefined && mayBegin(party)
      const isFull = waitingCount >= waitingMax || (line?.length ?? 0) >= waitingOfOneMax
      return !isFree && isFull ? null : run(party, work, isFree)
    },
  }
}
