import type { CalendarWindow } from '../../../providers/calendars.ts'
import type { Failures } from '../../../sync/looks/failures.ts'
import { MARKS_MAX } from '../../../sync/looks/marked.ts'
import { listMarks, type MarkedKey } from '../marks/record-marks.ts'
import type { ListedCalendar } from './calendars.ts'
import { listDue } from './quarantine.ts'
import { NOTHING_READ, READ_AT_ONCE, recordStep } from './record-step.ts'
import type { Session } from './session.ts'

/**
 * Lists items that the interface changed, before their calendars are followed. If a mark were made and settled within one
 * pass, after the calendar was looked at, a server that leaves out what came and went between two looks would never
 * report the end of an item that was created then.
 */
export function listMarked({ db, owned }: Session): Promise<MarkedKey[]> {
  return listMarks(db, owned.id, MARKS_MAX)
}

/**
 * Asks the provider about items that the interface changed, and records its answer. Items that were changed again
 * meanwhile are left for the next time.
 */
export async function lookAtMarked(
  session: Session,
  listed: readonly ListedCalendar[],
  { marked, window, failures }: { marked: readonly MarkedKey[]; window: CalendarWindow; failures: Failures },
): Promise<void> {
  const { provider, signal } = session
  const byId = new Map(listed.map(each => [each.calendar.id, each]))
  for (const [id, ofCalendar] of Map.groupBy(marked, ({ calendarId }) => calendarId)) {
    const each = byId.get(id)
    if (!each) continue
    await failures.after(id, async () => {
      for (let at = 0; at < ofCalendar.length; at += READ_AT_ONCE) {
        const settling = ofCalendar.slice(at, at + READ_AT_ONCE)
        const asked = { calendarKey: each.remote.key, keys: settling.map(({ key }) => key), window }
        const { items, unreadable } = await provider.read(asked, signal)
        session.progressed()
        await recordStep(session, each, window, { ...NOTHING_READ, items, unreadable, settling })
      }
    })
  }
}

/** If more items are due, the rest is left to a later pass. */
const ROUNDS_MAX = 20

/** Reads items again that could not be read, and that are due. */
export async function retryQuarantined(
  session: Session,
  listed: readonly ListedCalendar[],
  { window, failures }: { window: CalendarWindow; failures: Failures },
): Promise<void> {
  const { db, owned, provider, signal } = session
  const byId = new Map(listed.map(each => [each.calendar.id, each]))
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const due = await listDue(db, owned.id, [...byId.keys()], READ_AT_ONCE)
    if (due.size === 0) return
    for (const [id, keys] of due) {
      const each = byId.get(id)
      if (!each) continue
      await failures.after(id, async () => {
        const asked = { calendarKey: each.remote.key, keys, window }
        const { items, unreadable } = await provider.read(asked, signal)
        session.progressed()
        const answered = new Set([...items, ...unreadable].map(({ key }) => key))
        const gone = keys.filter(key => !answered.has(key))
        await recordStep(session, each, window, { items, unreadable, gone, isComplete: false })
      })
      // It is asked again in a later pass.
      if (failures.has(id)) byId.delete(id)
    }
  }
}
