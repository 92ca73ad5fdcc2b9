import type { StoredTimes } from '../../jobs/stored-times.ts'

export const TENANCY_TIMES: readonly StoredTimes[] = [{ table: 'api_key', past: ['last_used_at'] }]
