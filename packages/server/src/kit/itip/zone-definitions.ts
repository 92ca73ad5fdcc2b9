import { DAY_MS } from '../wall-clock.ts'
import { printDefinition } from '../zones/print-definition.ts'
import { presentZone, toInstant } from '../zones/zones.ts'

/** Definitions reach as far beyond the first and the last time in them. Their last rules go on. */
const YEARS_BEFORE = 1
const YEARS_AFTER = 5
const YEAR_MS = 366 * DAY_MS

/** Collects the zones of an iCalendar object. */
export interface ZoneDefinitions {
  /** The TZID of a zone in which there is a wall clock. A zone that is not in the IANA database gets a name of its own. */
  use(zone: string, wall: string): string
  /** The lines of the VTIMEZONEs. */
  print(): string[]
}

export function openDefinitions(): ZoneDefinitions {
  const used = new Map<string, { tzid: string; first: number; last: number }>()
  let unnamed = 0
  return {
    use(zone, wall) {
      const instant = toInstant(wall, zone)
      const known = used.get(zone)
      if (known) {
        known.first = Math.min(known.first, instant)
        known.last = Math.max(known.last, instant)
        return known.tzid
      }
      const tzid = presentZone(zone) ?? `Zone ${++unnamed}`
      used.set(zone, { tzid, first: instant, last: instant })
      return tzid
    },
    print: () =>
      [...used].flatMap(([zone, { tzid, first, last }]) => {
        const from = new Date(first - YEARS_BEFORE * YEAR_MS)
        const to = new Date(last + YEARS_AFTER * YEAR_MS)
        const named = `TZID:${zone}`
        return printDefinition(zone, { from, to }).map(line => (line === named ? `TZID:${tzid}` : line))
      }),
  }
}
