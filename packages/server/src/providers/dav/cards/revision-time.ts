const TIME = /^(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d):?(\d\d)(?:[.,]\d+)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i

/** A timestamp in the basic or extended form (ISO 8601); in UTC if it names no zone. Null if it is none. */
export function readTime(value: string): Date | null {
  const [, year, month, day, hour = '00', minute = '00', second = '00', zone = 'Z'] =
    TIME.exec(value.trim().slice(0, 100)) ?? []
  if (year === undefined) return null
  const offset = /^z$/i.test(zone) ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`
  const time = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`)
  // A zone may lead out of the years that have four digits.
  const utcYear = time.getUTCFullYear()
  return utcYear >= 1 && utcYear <= 9999 ? time : null
}
