import { z } from 'zod'

/** How this People API behaves where the real one varies. Changed by `PATCH /people` of the control API. */
export interface PeopleSettings {
  /** Whether the project of the clients has switched the API on. */
  enabled: boolean
  quota: 'on' | 'off'
  /** Calls that one user may make in a minute, of those that read and of those that write. */
  readsPerMinute: number
  writesPerMinute: number
  /** First pages of full syncs that one user may ask for in a minute; null for any number. */
  fullSyncsPerMinute: number | null
  /** Seconds after which a change shows in syncs. */
  syncLagSeconds: number
}

export const DEFAULT_SETTINGS: Readonly<PeopleSettings> = {
  enabled: true,
  quota: 'on',
  readsPerMinute: 90,
  writesPerMinute: 90,
  fullSyncsPerMinute: null,
  syncLagSeconds: 0,
}

/** The longest time for which syncs may be behind, in seconds. */
export const LAG_SECONDS_MAX = 3_600

export const SettingsSchema = z
  .strictObject({
    enabled: z.boolean(),
    quota: z.enum(['on', 'off']),
    readsPerMinute: z.int().min(1),
    writesPerMinute: z.int().min(1),
    fullSyncsPerMinute: z.int().min(1).nullable(),
    syncLagSeconds: z.int().min(0).max(LAG_SECONDS_MAX),
  })
  .partial()
