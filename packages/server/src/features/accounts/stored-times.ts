import type { StoredTimes } from '../../jobs/stored-times.ts'
import { LEASE_SECONDS, PREVIOUS_HOURS } from '../../accounts/grants/store.ts'

export const ACCOUNT_TIMES: readonly StoredTimes[] = [
  {
    table: 'account',
    waits: { purge_after: { setAt: 'purge_set_at' } },
    past: ['wake_window_at'],
  },
  {
    table: 'account_half',
    past: [
      'runtime_updated_at',
      'behind_since',
      'failing_since',
      'differs_since',
      'closed_since',
      'verified_at',
    ],
  },
  {
    table: 'oauth_grant',
    waits: {
      retry_at: { setAt: 'retry_set_at' },
      refresh_at: { setAt: 'issued_at' },
      expires_at: { setAt: 'issued_at' },
      refreshing_until: { seconds: LEASE_SECONDS },
      previous_until: { seconds: PREVIOUS_HOURS * 3_600 },
    },
  },
]
