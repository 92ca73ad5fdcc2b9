import { hash } from 'node:crypto'
import type { RemoteCalendar } from '../calendars.ts'

const MINUTE_MS = 60_000
/** A calendar is asked about rarely once it has not changed for longer than this. */
const LIVELY_MS = 24 * 60 * MINUTE_MS
/** Time between two questions about a calendar that changes rarely. */
const RARELY_MS = 5 * MINUTE_MS

interface Looked {
  askedAt: number
  /** When a change was found last; null if none was yet. */
  changedAt: number | null
}

/**
 * Chooses the calendars of an account that are asked about. Google answers only for one calendar at a time whether
 * anything has changed, and the calls of all users count against the quota of the project: so the primary calendar, and
 * calendars that changed in the last day, are asked about at each look, and others every 5 minutes, or less often where the
 * quota leaves no room. After a start, when nothing is known of any calendar, the first questions are spread over that time.
 */
export class Pace {
  readonly #looked = new Map<string, Looked>()

  /** @param isPushed whether Google notifies of changes of the calendar, which are then asked about only for safety */
  isDue({ key, isPrimary }: RemoteCalendar, now: number, isPushed = false): boolean {
    if (isPrimary && !isPushed) return true
    const looked = this.#looked.get(key) ?? this.#begin(key, now)
    if (now < looked.askedAt) return true
    const isLively = !isPushed && looked.changedAt !== null && now - looked.changedAt <= LIVELY_MS
    return isLively || now - looked.askedAt >= RARELY_MS
  }

  /** Takes a calendar for one that was asked about within the last 5 minutes. */
  #begin(key: string, now: number): Looked {
    const begun = { askedAt: now - (readPhase(key) % RARELY_MS), changedAt: null }
    this.#looked.set(key, begun)
    return begun
  }

  asked(key: string, now: number, hasChanged: boolean): void {
    const changedAt = hasChanged ? now : (this.#looked.get(key)?.changedAt ?? null)
    this.#looked.set(key, { askedAt: now, changedAt })
  }

  /** Forgets calendars that are not among these. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#looked.keys()) if (!keys.has(key)) this.#looked.delete(key)
  }
}

const readPhase = (key: string): number => Buffer.from(hash('sha256', key, 'hex'), 'hex').readUInt32BE()
