import cldr from 'cldr-core/supplemental/windowsZones.json' with { type: 'json' }
import { isZone } from '../../calendaring/moments.ts'

/** The territory of the zone that stands for a name everywhere. */
const WORLD = '001'

const ZONES = new Map(
  cldr.supplemental.windowsZones.mapTimezones
    .filter(({ mapZone }) => mapZone._territory === WORLD)
    .map(({ mapZone }) => [mapZone._other.toLowerCase(), mapZone._type]),
)

/** Exchange writes this name for events of UTC that came from elsewhere. */
const UTC_NAMES = new Set(['utc', 'gmt', 'etc/gmt', 'etc/utc', 'tzone://microsoft/utc'])

/** The IANA name of a zone as clients and Exchange write it, by a Windows or an IANA name; null if there is no such zone. */
export function ianaZone(name: string): string | null {
  const folded = name.toLowerCase()
  if (UTC_NAMES.has(folded)) return 'UTC'
  return ZONES.get(folded) ?? (isZone(name) ? name : null)
}
