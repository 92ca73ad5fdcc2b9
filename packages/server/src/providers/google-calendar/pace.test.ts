import { expect, test } from 'vitest'
import type { RemoteCalendar } from '../calendars.ts'
import { Pace } from './pace.ts'

const calendar = (key: string, isPrimary = false) => ({ key, isPrimary }) as RemoteCalendar
const MINUTE_MS = 60_000

test('spreads the first questions after a start over 5 minutes, and never leaves out the primary calendar', () => {
  const pace = new Pace()
  const calendars = Array.from({ length: 1_000 }, (_, nth) => calendar(`calendar-${nth}`))
  const asked = Array.from({ length: 10 }, (_, minute) => {
    const now = minute * MINUTE_MS
    const due = calendars.filter(each => pace.isDue(each, now))
    for (const { key } of due) pace.asked(key, now, false)
    expect(pace.isDue(calendar('me', true), now)).toBe(true)
    pace.asked('me', now, false)
    return due.length
  })
  expect(Math.max(...asked)).toBeLessThan(300)
  expect(asked.slice(0, 6).reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(1_000)
  expect(asked.slice(5).reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(900)
})
