import type { CalendarWindow, RemoteObject, UnreadableItem } from '../../../providers/calendars.ts'
import type { Cursor } from '../../../providers/mail.ts'
import { recordCursor } from '../calendars/record.ts'
import { recordEvents, recordGone } from '../events/record.ts'
import type { ListedCalendar } from './calendars.ts'
import { quarantine, releaseFromQuarantine } from './quarantine.ts'
import { type Session, underFence } from './session.ts'

/** The most keys that a provider is asked about at once. */
export const READ_AT_ONCE = 50

export interface RecordedStep {
  items: readonly RemoteObject[]
  unreadable: readonly UnreadableItem[]
  gone: readonly string[]
  /** Undefined: stays as it is. */
  cursor?: Cursor | null | undefined
  /** Whether the calendar was read to its end. */
  isComplete: boolean
}

/** Records one step of following a calendar, with its cursor, in one transaction. */
export async function recordStep(
  session: Session,
  { calendar, unzoned }: ListedCalendar,
  window: CalendarWindow,
  { items, unreadable, gone, cursor, isComplete }: RecordedStep,
): Promise<void> {
  await underFence(session, async (unit, account, own) => {
    const recording = { calendarId: calendar.id, unzoned, window, own, planner: session.planner }
    await recordEvents(unit, account, items, recording)
    await recordGone(unit, account, gone, recording)
    await releaseFromQuarantine(unit, calendar.id, [...items.map(({ key }) => key), ...gone])
    await quarantine(unit, { accountId: account.id, calendarId: calendar.id }, unreadable)
    if (cursor !== undefined) await recordCursor(unit, calendar.id, { cursor, isComplete })
  })
}
