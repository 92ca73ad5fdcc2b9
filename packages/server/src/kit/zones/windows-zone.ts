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

/** Windows names of all IANA names that CLDR has, and of the names that are their aliases. */
let names: ReadonlyMap<string, string> | null = null

/** The Windows name of an IANA name; null if there is none. */
export function findWindowsName(zone: string): string | null {
  names ??= new Map(
    cldr.supplemental.windowsZones.mapTimezones.flatMap(({ mapZone }) =>
      mapZone._type.split(' ').flatMap(name => {
        const written = canonicalOf(name)
        return written === null ? [] : [[written, mapZone._other] as const]
      }),
    ),
  )
  const written = canonicalOf(zone)
  return written === null ? null : (names.get(written) ?? null)
}

/** The name that stands for all aliases of a zone. */
function canonicalOf(zone: string): string | null {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
