import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { ZONE_DATA_RELEASE } from '../../../kit/zones/iana-zone.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'
import { type CalendarAccount, unzonedOf } from '../calendars/rules.ts'
import { listCalendars } from '../calendars/store.ts'
import { announceWritten } from './announce.ts'
import { deleteItems } from './delete-items.ts'
import { extendSeries } from './extend.ts'
import { isNothing, type ItemState, withinWindow } from './item.ts'
import { type HeldItem, loadItemsById, type WrittenItem } from './load-items.ts'
import type { RecordingEvents } from './recording.ts'
import { shownFor } from './shown.ts'
import { clockLimit, rolledUpTo } from './window.ts'
import { writeItems } from './write-items.ts'

/** Items that are made again in one transaction. */
const ITEMS_AT_ONCE = 100

/**
 * Whether an item is to be made again: it was marked or made with older zone data, or its series is to be expanded further.
 * A series that is expanded further than the window was expanded while a clock was ahead. Nothing is, if its calendar has ended.
 */
export const isDue = (window: CalendarWindow) => sql<boolean>`
  not exists (select from calendar where calendar.id = calendar_event.calendar_id and calendar.is_ending)
  and (calendar_event.zone_release < ${ZONE_DATA_RELEASE} or calendar_event.spanned_until < ${rolledUpTo(window)}
    or calendar_event.spanned_until > ${clockLimit(window)})`

/**
 * Makes the first items of an account again that are due, with this process's zone data, for the window as it is now. The
 * window moves in silence; what else differs is announced. The calendars of the account must be locked.
 * @returns how many items it made again; 0: none is due any more
 */
export async function remakeDue(
  unit: UnitOfWork,
  account: CalendarAccount,
  options: Omit<RecordingEvents, 'calendarId' | 'unzoned'>,
): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    select id from calendar_event where account_id = ${account.id} and ${isDue(options.window)} limit ${ITEMS_AT_ONCE}
  `.execute(unit.sql)
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  const items = await loadItemsById(unit, account.id, ids)
  const calendars = await listCalendars(unit.sql, account.id)
  for (const calendar of calendars) {
    const own = items.filter(({ root }) => root.calendar_id === calendar.id)
    const recording = { ...options, calendarId: calendar.id, unzoned: unzonedOf(calendar, calendars) }
    const others = await extendSeries(unit, account, own, recording)
    await remakeItems(unit, account, others, recording)
  }
  return rows.length
}

async function remakeItems(
  unit: UnitOfWork,
  account: CalendarAccount,
  items: readonly HeldItem[],
  options: RecordingEvents,
): Promise<void> {
  const next: Array<WrittenItem & { before: HeldItem }> = []
  for (const before of items) {
    const { id, provider_key: key } = before.root
    const state = stateFor(before.state, options.own)
    const left = await options.planner.inSlices(withinWindow(state, options.window))
    next.push({ id, key: key ?? '', before, state: left })
  }
  await deleteItems(
    unit,
    next.flatMap(({ id, state }) => (isNothing(state) ? [id] : [])),
  )
  const left = next.filter(({ state }) => !isNothing(state))
  const written = await writeItems(unit, account, left, options)
  if (account.isInitialized) await announceWritten(unit, account, written, options)
}

/** The item for an account with these addresses. */
function stateFor(state: ItemState, own: ReadonlySet<string>): ItemState {
  return {
    ...state,
    event: state.event && { ...state.event, shown: shownFor(state.event.shown, own) },
    exceptions: new Map(
      [...state.exceptions].map(([member, one]) => [member, { ...one, shown: shownFor(one.shown, own) }]),
    ),
  }
}
