import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'
import type { CalendarAccount } from '../calendars/rules.ts'
import type { Steps } from '../../../kit/sliced-work.ts'
import type { EventRow } from './event-row.ts'
import { STEP_MEMBERS } from './item.ts'
import type { HeldItem, WrittenItem } from './load-items.ts'
import { changedEventFields, presentEvent } from './present.ts'
import type { RecordingEvents } from './recording.ts'
import { hasFallenOut } from './window.ts'
import { readEvents } from './write-items.ts'

/**
 * Announces items that are deleted. A series takes its exceptions along in silence, and what has fallen out of the window
 * goes in silence.
 */
export function announceDeleted(
  unit: UnitOfWork,
  account: CalendarAccount,
  { root, exceptions }: HeldItem,
  window: CalendarWindow,
): void {
  const gone = root.shown ? [root] : [...exceptions.values()]
  for (const row of gone) announceGone(unit, account, row, window)
}

/** Announces what differs in items that were written. The account must be initialized. */
export async function announceWritten(
  unit: UnitOfWork,
  account: CalendarAccount,
  written: readonly WrittenItem[],
  { window, planner }: Pick<RecordingEvents, 'window' | 'planner'>,
): Promise<void> {
  const now = await readEvents(
    unit,
    written.map(({ id }) => id),
  )
  for (const { id, before } of written)
    await planner.inSlices(announceChanges(unit, account, before, now.get(id) ?? [], window))
}

function* announceChanges(
  unit: UnitOfWork,
  account: CalendarAccount,
  before: HeldItem | null,
  after: readonly EventRow[],
  window: CalendarWindow,
): Steps<void> {
  const former = before ? [before.root, ...before.exceptions.values()] : []
  let left = new Map(former.map(row => [row.id, row]))
  let done = 0
  const [root] = after
  if (before?.root.shown && root && !root.shown) {
    // A consumer of the feed drops the exceptions of a deleted series, so the exceptions that stay are announced again.
    announceGone(unit, account, before.root, window)
    left = new Map()
  }
  for (const row of after) {
    const known = left.get(row.id)
    left.delete(row.id)
    announceRow(unit, account, known ?? null, row, window)
    if (++done % STEP_MEMBERS === 0) yield
  }
  for (const row of left.values()) {
    announceGone(unit, account, row, window)
    if (++done % STEP_MEMBERS === 0) yield
  }
}

function announceRow(
  unit: UnitOfWork,
  { id: accountId }: CalendarAccount,
  before: EventRow | null,
  row: EventRow,
  window: CalendarWindow,
): void {
  const event = presentEvent(row)
  if (event === null) return
  const was = before && presentEvent(before)
  if (was === null) {
    unit.announce({ type: 'calendar_event.created', accountId, data: { event } })
    return
  }
  const changes = changedEventFields(was, event).filter(
    name =>
      name !== 'cancelledStarts' ||
      differWithin(was, event, { ...window, end: before?.spanned_until ?? null }),
  )
  if (changes.length > 0)
    unit.announce({ type: 'calendar_event.updated', accountId, data: { event, changes } })
}

/** Whether members were taken from a series or given back within a range. The window itself moves on in silence. */
function differWithin(
  was: CalendarEvent,
  event: CalendarEvent,
  { start, end }: { start: Date; end: Date | null },
): boolean {
  const within = ({ cancelledStarts }: CalendarEvent) =>
    (cancelledStarts ?? []).filter(
      each => each >= start.toISOString() && (end === null || each < end.toISOString()),
    )
  const isOfOneKind = (was.cancelledStarts === null) === (event.cancelledStarts === null)
  return !isOfOneKind || within(was).join() !== within(event).join()
}

function announceGone(
  unit: UnitOfWork,
  { id: accountId }: CalendarAccount,
  row: EventRow,
  window: CalendarWindow,
): void {
  const event = presentEvent(row)
  if (event === null || (row.ends_at && hasFallenOut(row.ends_at, window))) return
  unit.announce({ type: 'calendar_event.deleted', accountId, data: { event } })
}
