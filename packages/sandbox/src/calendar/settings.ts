import { z } from 'zod'

export const SettingsSchema = z.strictObject({
  /** Whether the project of the clients has switched the API on. */
  enabled: z.boolean(),
  quota: z.enum(['on', 'off']),
  /** Calls that one user may make in a minute, and all users of a client together. */
  callsPerMinute: z.int().min(1),
  projectCallsPerMinute: z.int().min(1),
  /** Status of the answer to a call that is too many. */
  quotaAnswer: z.union([z.literal(403), z.literal(429)]),
  /** Seconds for which a new Meet conference is `pending`. */
  meetSeconds: z.int().min(0).max(3_600),
  /** Entries of a page at most, whatever was asked for; null for no limit. */
  pageMax: z.int().min(1).nullable(),
  /** Whether exceptions are listed before the series to which they belong. */
  exceptionsFirst: z.boolean(),
  /** How likely a notice is lost, from 0 to 1. */
  drop: z.number().min(0).max(1),
  /** Number of times that a notice comes. */
  copies: z.int().min(1).max(10),
  /** Milliseconds before a notice is sent. */
  delayMilliseconds: z.int().min(0).max(3_600_000),
})

/** How this Calendar API behaves where the real one varies. Changed by `PATCH /calendar` of the control API. */
export type CalendarSettings = z.output<typeof SettingsSchema>

/** The quotas are those of Google's page "Usage limits" (developers.google.com/workspace/calendar/api/guides/quota). */
export const DEFAULT_SETTINGS: Readonly<CalendarSettings> = {
  enabled: true,
  quota: 'on',
  callsPerMinute: 600,
  projectCallsPerMinute: 10_000,
  quotaAnswer: 403,
  meetSeconds: 2,
  pageMax: null,
  exceptionsFirst: false,
  drop: 0,
  copies: 1,
  delayMilliseconds: 0,
}
