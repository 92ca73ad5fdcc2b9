const DAY_MS = 24 * 3600 * 1000
const UNITS: Record<string, number> = { k: 1024, kb: 1024, m: 1024 ** 2, mb: 1024 ** 2 }
const AGES: Record<string, number> = { h: 3600 * 1000, d: DAY_MS, m: 30 * DAY_MS, y: 365 * DAY_MS }

/**
 * The time of `after:` and `before:`, in milliseconds: seconds since 1970, or a date, which begins at midnight
 * Pacific time whatever the user's zone.
 */
export function dateIn(value: string): number | null {
  if (/^\d{5,}$/.test(value)) return Number(value) * 1000
  const [, year, month, day] = /^(\d{4})[/-](\d{1,2})[/-](\d{1,2})$/.exec(value) ?? americanDate(value) ?? []
  if (year === undefined) return null
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day))
  return Number.isNaN(midnight) ? null : midnight + pacificOffset(midnight)
}

function americanDate(value: string): string[] | null {
  const match = /^(\d{1,2})[/-](\d{1,2})[/-](\d{4})$/.exec(value)
  return match && ['', match[3] as string, match[1] as string, match[2] as string]
}

/** Milliseconds by which Pacific time is behind UTC around a moment. */
function pacificOffset(at: number): number {
  const hour = new Intl.DateTimeFormat('en-US', {
    timeZone: 'America/Los_Angeles',
    hour: '2-digit',
    hourCycle: 'h23',
  })
  const noon = at + DAY_MS / 2
  return (12 - Number(hour.format(noon))) * 3600 * 1000
}

/** The age of `newer_than:` in milliseconds: 2d, 3m, 1y. */
export function ageIn(value: string): number | null {
  const match = /^(\d{1,6})([hdmy])$/i.exec(value)
  return match && Number(match[1]) * (AGES[(match[2] as string).toLowerCase()] as number)
}

/** The size of `larger:` in bytes: 1000, 20K, 5M. */
export function sizeIn(value: string): number | null {
  const match = /^(\d{1,12})(kb?|mb?)?$/i.exec(value)
  return match && Number(match[1]) * (UNITS[(match[2] ?? '').toLowerCase()] ?? 1)
}
