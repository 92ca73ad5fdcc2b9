import { z } from 'zod'

/** How this Gmail behaves where the real one varies. Changed by `PATCH /gmail` of the control API. */
export interface GmailSettings {
  /** `standard` is the table of projects made since May 2026, `classic` that of older ones. */
  quota: 'standard' | 'classic' | 'off'
  /** Units that one user may use in a minute; null: the number of the table. */
  unitsPerMinute: number | null
  /** Units that one project may use in a minute, over all users. */
  projectUnitsPerMinute: number
  /** Which error a user over the quota gets; `mixed` draws lots. */
  quotaAnswer: 403 | 429 | 'mixed'
  /** Puts a page without records before each page of history that has some. */
  emptyHistoryPages: boolean
  /** Gives each record of history twice. */
  repeatedHistory: boolean
  /** Whether a message that is sent gets another Message-ID. */
  overwriteMessageIds: boolean
  /** Answers the parts of a batch in any order. */
  shuffledBatches: boolean
  /** Lists messages only roughly newest first, as Gmail does at times. */
  disorderedLists: boolean
}

export const DEFAULT_SETTINGS: Readonly<GmailSettings> = {
  quota: 'standard',
  unitsPerMinute: null,
  projectUnitsPerMinute: 1_200_000,
  quotaAnswer: 'mixed',
  emptyHistoryPages: false,
  repeatedHistory: false,
  overwriteMessageIds: false,
  shuffledBatches: true,
  disorderedLists: false,
}

export const SettingsSchema = z
  .strictObject({
    quota: z.enum(['standard', 'classic', 'off']),
    unitsPerMinute: z.int().min(1).nullable(),
    projectUnitsPerMinute: z.int().min(1),
    quotaAnswer: z.union([z.literal(403), z.literal(429), z.literal('mixed')]),
    emptyHistoryPages: z.boolean(),
    repeatedHistory: z.boolean(),
    overwriteMessageIds: z.boolean(),
    shuffledBatches: z.boolean(),
    disorderedLists: z.boolean(),
  })
  .partial()
