import type { CalendarApi } from './calendar-api.ts'
import { findEvent, listVersions } from './following.ts'
import { isHeld, requireNamed } from './reading.ts'

/** So few keys are asked for one by one. */
const FEW = 3
/** Pages of 2,500 keys that are looked through for many. */
const PAGES_MAX = 4

/**
 * The keys among these that a calendar has. Events of overlapping calendars have the same keys, so many may be asked for.
 * A key that the listing lacks is asked for by itself, since events may change while they are listed.
 */
export async function findHeldKeys(
  api: CalendarApi,
  { calendarKey, keys }: { calendarKey: string; keys: readonly string[] },
  signal: AbortSignal,
): Promise<Set<string>> {
  const wanted = new Set(keys)
  const held = new Set<string>()
  if (wanted.size > FEW) {
    let pages = 0
    for await (const page of listVersions(api, calendarKey, null, signal)) {
      for (const { key } of page) if (wanted.delete(key)) held.add(key)
      if (wanted.size === 0 || ++pages === PAGES_MAX) break
    }
  } else await api.getEntry(calendarKey, signal)
  for (const key of wanted) {
    const found = await findEvent(api, calendarKey, key, signal)
    if (found !== null && isHeld(requireNamed(found))) held.add(key)
  }
  return held
}
