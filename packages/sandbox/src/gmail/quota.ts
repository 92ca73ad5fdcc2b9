import type { ApiError } from '../google/errors.ts'
import type { Random } from '../world/random.ts'
import { spend, used, type Window, windowOf } from '../limits/window.ts'
import { Refusal } from '../google/api/refusal.ts'
import type { GmailSettings } from './settings.ts'

/** Units of each method, as documented for projects made before May 2026. A method that is not listed costs 5. */
const CLASSIC: Readonly<Record<string, number>> = {
  getProfile: 1,
  'drafts.create': 10,
  'drafts.delete': 10,
  'drafts.send': 100,
  'drafts.update': 15,
  'history.list': 2,
  'labels.get': 1,
  'labels.list': 1,
  'messages.batchDelete': 50,
  'messages.batchModify': 50,
  'messages.delete': 10,
  'messages.import': 25,
  'messages.insert': 25,
  'messages.send': 100,
  'settings.sendAs.create': 100,
  'settings.sendAs.get': 1,
  'settings.sendAs.list': 1,
  'settings.sendAs.patch': 100,
  'settings.sendAs.update': 100,
  'settings.sendAs.verify': 100,
  stop: 50,
  'threads.delete': 20,
  'threads.get': 10,
  'threads.list': 10,
  'threads.modify': 10,
  'threads.trash': 10,
  'threads.untrash': 10,
  watch: 100,
}

/** Units of each method in newer projects, where some cost more. */
const STANDARD: Readonly<Record<string, number>> = {
  ...CLASSIC,
  'messages.get': 20,
  'messages.attachments.get': 20,
  'threads.get': 40,
}

const OTHER_UNITS = 5
const USER_UNITS = { standard: 6_000, classic: 15_000 } as const
const WINDOW_SECONDS = 60

/** Counts the units that users and projects have used in the last minute. */
export interface Quota {
  /** Units of a method. */
  unitsOf(method: string): number
  /** Charges a call to its user and project. Throws Gmail's refusal if one of them has too few units left. */
  charge(user: string, project: string, units: number): void
}

export function openQuota(settings: GmailSettings, now: () => number, random: Random): Quota {
  const users = new Map<string, Window>()
  const projects = new Map<string, Window>()
  return {
    unitsOf: method => (settings.quota === 'classic' ? CLASSIC : STANDARD)[method] ?? OTHER_UNITS,
    charge(user, project, units) {
      if (settings.quota === 'off') return
      const second = Math.floor(now() / 1000)
      const byUser = windowOf(users, `${user} ${project}`)
      const byProject = windowOf(projects, project)
      const userMax = settings.unitsPerMinute ?? USER_UNITS[settings.quota]
      if (used(byProject, second, WINDOW_SECONDS) + units > settings.projectUnitsPerMinute)
        throw projectRefusal()
      if (used(byUser, second, WINDOW_SECONDS) + units > userMax)
        throw userRefusal(settings.quotaAnswer, random)
      spend(byUser, second, units)
      spend(byProject, second, units)
    },
  }
}

const LIMITED = { domain: 'usageLimits', location: undefined } satisfies Partial<ApiError>

const message = (scope: string): string =>
  `Quota exceeded for quota metric 'Queries' and limit 'Queries per minute${scope}' of service 'gmail.googleapis.com' for consumer 'project_number:1'.`

const projectRefusal = (): Refusal =>
  new Refusal({
    ...LIMITED,
    code: 403,
    status: 'PERMISSION_DENIED',
    message: message(''),
    reason: 'rateLimitExceeded',
  })

function userRefusal(answer: GmailSettings['quotaAnswer'], random: Random): Refusal {
  const code = answer === 'mixed' ? random.pick([403, 429] as const) : answer
  if (code === 403)
    return new Refusal({
      ...LIMITED,
      code,
      status: 'PERMISSION_DENIED',
      message: message(' per user'),
      reason: 'userRateLimitExceeded',
    })
  return new Refusal({
    ...LIMITED,
    domain: 'global',
    code,
    status: 'RESOURCE_EXHAUSTED',
    message: message(' per user'),
    reason: 'rateLimitExceeded',
  })
}
