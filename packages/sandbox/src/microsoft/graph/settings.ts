import { z } from 'zod'

/** Settings of `PATCH /graph` of the control API. */
export const GraphSettingsSchema = z.strictObject({
  /** Whether the delta of a folder reports messages that were moved there. */
  arrivals: z.enum(['told', 'lost', 'random']).optional(),
  /** How likely a delta reports an item twice in one page, from 0 to 1. */
  repeats: z.number().min(0).max(1).optional(),
  /** How likely a delta reports a message of which only `isRead` changed by a few of its properties, from 0 to 1. */
  sparse: z.number().min(0).max(1).optional(),
  /** Number of the newest links of a delta query that work. By default null: all work until they are made to expire. */
  generationsKept: z.int().min(1).max(1_000).nullable().optional(),
  /** Whether the delta of a calendar view reports series besides their occurrences. */
  seriesMasters: z.enum(['told', 'silent']).optional(),
  /** Whether such a delta reports an event that left its time as removed, or by its id alone. */
  leavers: z.enum(['removed', 'empty']).optional(),
  /** Calendars that have a delta: all of a mailbox, only the default one, or none. */
  calendarDeltas: z.enum(['all', 'default', 'none']).optional(),
})

export type GraphSettings = Required<z.output<typeof GraphSettingsSchema>>

export const DEFAULT_GRAPH_SETTINGS: GraphSettings = {
  arrivals: 'told',
  repeats: 0,
  sparse: 0,
  generationsKept: null,
  seriesMasters: 'silent',
  leavers: 'removed',
  calendarDeltas: 'all',
}
