const LENGTH_MAX = 200
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
// RFC 5322 section 4.3.
const ZONE_HOURS = new Map([
  ['EST', -5],
  ['EDT', -4],
  ['CST', -6],
  ['CDT', -5],
  ['MST', -7],
  ['MDT', -6],
  ['PST', -8],
  ['PDT', -7],
])
const DATE =
  /^(?:[a-z]{2,12}\.?,?\s*)?(\d{1,2})[\s-]+([a-z]{3})[a-z]{0,6}\.?[\s-]+(\d{2,4}),?\s+(\d{1,2})[:.](\d{1,2})(?:[:.](\d{1,2}))?(?:\s*([+-]\d{1,2}:?\d{2}(?!\d)|[a-z]{1,5})|\s+(\d{4})(?!\d))?/i
/** The form that C's asctime writes. */
const C_DATE = /^[a-z]{3} +([a-z]{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})$/i
const ISO_DATE = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/i
/** Kiribati has the largest; greater offsets are not time zones. */
const ZONE_HOURS_MAX = 14
const YEAR_MIN = 1900
const YEAR_MAX = 9999

/** The time of a Date field (RFC 5322 section 3.3) or an INTERNALDATE, or null if it is not a date. */
export function readDate(field: string | null): Date | null {
  if (!field) return null
  const text = field
    .slice(0, LENGTH_MAX)
    .replaceAll(/\([^()]*\)/g, ' ')
    .trim()
    .replace(C_DATE, '$2 $1 $6 $3:$4:$5')
  const found = DATE.exec(text)
  const date = found ? fromParts(found) : new Date(ISO_DATE.test(text) ? text : Number.NaN)
  if (!date || Number.isNaN(date.getTime())) return null
  const year = date.getUTCFullYear()
  return year >= YEAR_MIN && year <= YEAR_MAX ? date : null
}

function fromParts([, day, month, year, hour, minute, second, zone, unsigned]: RegExpExecArray): Date | null {
  const monthIndex = MONTHS.indexOf(month!.toLowerCase())
  if (monthIndex < 0) return null
  if (Number(hour) > 24 || Number(minute) > 59 || Number(second ?? 0) > 60) return null
  const days = new Date(Date.UTC(fullYear(year!), monthIndex + 1, 0)).getUTCDate()
  if (Number(day) < 1 || Number(day) > days) return null
  const utc = Date.UTC(
    fullYear(year!),
    monthIndex,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second ?? 0),
  )
  return new Date(utc - zoneMinutes(zone ?? (unsigned && `+${unsigned}`)) * 60_000)
}

/** RFC 5322 section 4.3: two digits up to 49 mean this century, three digits count from 1900. */
function fullYear(year: string): number {
  const value = Number(year)
  if (year.length === 2) return value < 50 ? 2000 + value : 1900 + value
  return year.length === 3 ? 1900 + value : value
}

function zoneMinutes(zone: string | undefined): number {
  if (!zone) return 0
  const sign = zone[0]
  if (sign !== '+' && sign !== '-') return (ZONE_HOURS.get(zone.toUpperCase()) ?? 0) * 60
  const digits = zone.slice(1).replace(':', '')
  const [hours, minutesOfHour] = [Number(digits.slice(0, -2)), Number(digits.slice(-2))]
  const minutes = hours * 60 + minutesOfHour
  // Some programs write the year or nonsense as the zone.
  if (minutes > ZONE_HOURS_MAX * 60 || minutesOfHour > 59) return 0
  return sign === '-' ? -minutes : minutes
}
