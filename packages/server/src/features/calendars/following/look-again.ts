import type { CalendarWindow } from '../../../providers/calendars.ts'
import type { Failures } from '../../../sync/looks/failures.ts'
import type { ListedCalendar } from './calendars.ts'
import { listDue } from './quarantine.ts'
import { READ_AT_ONCE, recordStep } from './record-step.ts'
import type { Session } from './session.ts'

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
