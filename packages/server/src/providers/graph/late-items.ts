import { z } from 'zod'

/*
 * Contacts and events that Graph names before every one of its servers has them. They stay in the cursor, and are asked for
 * again.
 */

/** Keys in a cursor. */
const LATE_MAX = 100
/** After this time an item that Graph named, and does not have, has come and gone. */
const LATE_MS_MAX = 60_000

/** Items that were named, but not found yet, and since when, in milliseconds since 1970. */
export interface LateItems {
  unfound: string[]
  unfoundAt: number | null
}

/** The fields of a cursor. Cursors of earlier versions may lack them. */
export const LATE_FIELDS = {
  unfound: z.array(z.string()).default([]),
  unfoundAt: z.int().nullable().default(null),
}

export const NONE_LATE: LateItems = { unfound: [], unfoundAt: null }

/**
 * Parts keys that were not found into those that may still come, and those that are gone.
 * @param named keys that Graph has just named as there
 */
export function splitUnfound(
  { unfound, unfoundAt }: LateItems,
  { keys, named, now }: { keys: readonly string[]; named: ReadonlySet<string>; now: number },
): { late: string[]; gone: string[] } {
  const isOver = now - (unfoundAt ?? 0) > LATE_MS_MAX
  const isLate = (key: string) => (unfound.includes(key) ? !isOver : named.has(key))
  return { late: keys.filter(isLate), gone: keys.filter(key => !isLate(key)) }
}

/** The items that are late after all of a page was asked for. */
export function keepLate(before: LateItems, late: readonly string[], now: number): LateItems {
  const unfound = [...new Set(late)].slice(0, LATE_MAX)
  const isSame = unfound.length > 0 && unfound.every(key => before.unfound.includes(key))
  return { unfound, unfoundAt: isSame ? before.unfoundAt : now }
}
