import { Refusal } from '../google/api/refusal.ts'
import { errorInfo } from '../google/errors.ts'
import { spend, used, type Window, windowOf } from '../limits/window.ts'
import type { PeopleSettings } from './settings.ts'

/** A kind of calls that has a quota of its own. */
export type Metric = 'reads' | 'writes' | 'fullSyncs'

const WINDOW_SECONDS = 60
const WORDS: Readonly<Record<Exclude<Metric, 'fullSyncs'>, { metric: string; limit: string }>> = {
  reads: {
    metric: 'Critical read requests (Contact and Profile Reads)',
    limit: 'CriticalReadsPerMinutePerProjectPerUser',
  },
  writes: { metric: 'Critical write requests', limit: 'CriticalWritesPerMinutePerProjectPerUser' },
}

/** Counts the calls of users in the last minute. */
export interface Quota {
  /** Counts a call. Throws the refusal of the People API if the user has none left. */
  charge(user: string, project: string, metric: Metric): void
}

export function openQuota(settings: PeopleSettings, now: () => number): Quota {
  const windows = new Map<string, Window>()
  return {
    charge(user, project, metric) {
      const most = settings[`${metric}PerMinute`]
      if (settings.quota === 'off' || most === null) return
      const second = Math.floor(now() / 1_000)
      const window = windowOf(windows, `${metric} ${user} ${project}`)
      if (used(window, second, WINDOW_SECONDS) + 1 > most) throw refusalOf(metric)
      spend(window, second, 1)
    },
  }
}

function refusalOf(metric: Metric): Refusal {
  const base = { code: 429, status: 'RESOURCE_EXHAUSTED', reason: 'rateLimitExceeded' }
  if (metric === 'fullSyncs')
    return new Refusal({
      ...base,
      message: 'Resource has been exhausted (e.g. check quota).',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
          violations: [{ subject: 'QUOTA_EXCEEDED', description: 'FBS quota limit exceeded' }],
        },
      ],
    })
  const { metric: name, limit } = WORDS[metric]
  return new Refusal({
    ...base,
    message: `Quota exceeded for quota metric '${name}' and limit '${name} per minute per user' of service 'people.googleapis.com' for consumer 'project_number:1'.`,
    details: [{ ...errorInfo('RATE_LIMIT_EXCEEDED', 'people.googleapis.com'), quota_limit: limit }],
  })
}
