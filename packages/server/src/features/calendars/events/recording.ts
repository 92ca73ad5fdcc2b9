import type { ItemPlanner } from './planner.ts'
import type { SpansOptions } from './spans.ts'

/** How events of a calendar are recorded. */
export interface RecordingEvents extends SpansOptions {
  calendarId: string
  /** The account's own addresses, as `comparedAddress` has them. */
  own: ReadonlySet<string>
  planner: ItemPlanner
  /** Items that the provider was asked about, and no longer has under their keys. Default: none. */
  goneIds?: ReadonlySet<string>
  /** The ids of items that have moved to these keys. Default: none. */
  formerIds?: ReadonlyMap<string, string>
  /** Whether items that end before the window are recorded as well. */
  keepsEnded?: boolean
}
