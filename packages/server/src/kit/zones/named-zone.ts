import { findIanaName } from './iana-zone.ts'
import { findWindowsZone } from './windows-zone.ts'

/** Segments of the longest IANA names, such as `America/Indiana/Knox`. */
const SEGMENTS_MAX = 3
const TZID_LENGTH_MAX = 255

/**
 * The zone that a TZID names by an IANA name or alias, also behind the path of a vendor, such as
 * `/freeassociation.sourceforge.net/Tzfile/Europe/Berlin`. Null if it names none.
 */
export function findIanaZone(tzid: string): string | null {
  if (tzid.length > TZID_LENGTH_MAX) return null
  const segments = tzid.trim().split('/')
  const names = Array.from({ length: Math.min(SEGMENTS_MAX, segments.length) }, (_, index) => index + 1).map(
    count => segments.slice(-count).join('/'),
  )
  // The longest comes first: `America/Indiana/Knox` and not `Knox`. A single segment is a name only without a path.
  for (const name of names.toReversed()) {
    if (segments.length > 1 && !name.includes('/')) continue
    const found = findIanaName(name)
    if (found !== null) return found
  }
  return null
}

/** Names that were looked up before: a name that is none costs an exception each time. */
const found = new Map<string, string | null>()
const FOUND_MAX = 1000

/** The zone that a TZID names by an IANA name or a Windows name. Null if it names none. */
export function findNamedZone(tzid: string): string | null {
  const known = found.get(tzid)
  if (known !== undefined || tzid.length > TZID_LENGTH_MAX) return known ?? null
  const zone = findIanaZone(tzid) ?? findWindowsZone(tzid.trim())
  if (found.size >= FOUND_MAX) found.clear()
  found.set(tzid, zone)
  return zone
}
