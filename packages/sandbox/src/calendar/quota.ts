import { Refusal } from '../google/api/refusal.ts'
import { spend, used, type Window, windowOf } from '../limits/window.ts'
import type { CalendarSettings } from './settings.ts'

const WINDOW_SECONDS = 60

/** Makes the function that counts a call of the last minute. It throws the refusal if the user or project has none left. */
export function openQuota(
  settings: CalendarSettings,
  now: () => number,
): (user: string, project: string) => void {
  const windows = new Map<string, Window>()
  return (user, project) => {
    if (settings.quota === 'off') return
    const second = Math.floor(now() / 1_000)
    const limits = [
      { key: project, most: settings.projectCallsPerMinute, ofUser: false },
      { key: `${project} ${user}`, most: settings.callsPerMinute, ofUser: true },
    ].map(limit => ({ ...limit, window: windowOf(windows, limit.key) }))
    for (const { window, most, ofUser } of limits)
      if (used(window, second, WINDOW_SECONDS) >= most) throw refusal(settings.quotaAnswer, ofUser)
    for (const { window } of limits) spend(window, second, 1)
  }
}

const refusal = (code: 403 | 429, ofUser: boolean): Refusal =>
  new Refusal({
    code,
    status: code === 403 ? 'PERMISSION_DENIED' : 'RESOURCE_EXHAUSTED',
    message: `Quota exceeded for quota metric 'Queries' and limit 'Queries per minute${ofUser ? ' per user' : ''}' of service 'calendar-json.googleapis.com' for consumer 'project_number:1'.`,
    domain: 'usageLimits',
    reason: 'rateLimitExceeded',
  })
