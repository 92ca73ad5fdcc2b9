import cldr from 'cldr-core/supplemental/windowsZones.json' with { type: 'json' }

/* Names of time zones that Windows has, and Exchange and Outlook write. */

/** The territory of the zone that stands for a name wherever it is used. */
const WORLD = '001'

const zones = new Map(
  cldr.supplemental.windowsZones.mapTimezones
    .filter(({ mapZone }) => mapZone._territory === WORLD)
    .map(({ mapZone }) => [mapZone._other.toLowerCase(), mapZone._type]),
)

/** The IANA names of all Windows names. */
export const WORLD_ZONES: readonly string[] = [...zones.values()]

/** The IANA name of a Windows name, given in any case; null if CLDR does not have it. */
export function findWindowsZone(name: string): string | null {
  return zones.get(name.toLowerCase()) ?? null
}
