import type { SpanPlanner } from './planner.ts'
import type { SpansOptions } from './spans.ts'

/** How events of a calendar are recorded. */
export interface RecordingEvents extends SpansOptions {
  calendarId: string
  /** The account's own addresses, as `comparedAddress` has them. */
  own: ReadonlySet<string>
  planner: SpanPlanner
}
