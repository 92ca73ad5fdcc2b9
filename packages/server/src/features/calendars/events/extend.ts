import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { ZONE_DATA_RELEASE } from '../../../kit/zones/iana-zone.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'
import type { CalendarAccount } from '../calendars/rules.ts'
import type { EventRow } from './event-row.ts'
import type { HeldItem } from './load-items.ts'
import type { RecordingEvents } from './recording.ts'
import { expansionOf, type Span } from './spans.ts'
import { clockLimit } from './window.ts'
import { insertSpans } from './write-spans.ts'

interface Extended {
  id: string
  cancelled_starts: readonly string[]
}

/**
 * Expands series from where they were expanded to up to the end of the window, in silence. The calendars of the account
 * must be locked.
 * @returns the other items, which must be made again as a whole: their instants may differ, or their series ends
 */
export async function extendSeries(
  unit: UnitOfWork,
  account: CalendarAccount,
  items: readonly HeldItem[],
  options: RecordingEvents,
): Promise<HeldItem[]> {
  const { window, planner, calendarId } = options
  const others: HeldItem[] = []
  const extended: Extended[] = []
  const spans: Span[] = []
  const optionsFor = ({ root }: HeldItem) => {
    const start = extendedFrom(root, window)
    return start && { ...options, window: { ...window, start } }
  }
  await planner.expand(
    items.map(item => {
      const wanted = optionsFor(item)
      return wanted && expansionOf(item.state, wanted)
    }),
  )
  for (const item of items) {
    const { root } = item
    const wanted = optionsFor(item)
    const added = wanted && (await planner.plan(root.id, item.state, wanted))
    if (!added || added.endsAt !== null || added.isTruncated) {
      others.push(item)
      continue
    }
    spans.push(...added.spans)
    const kept = (root.cancelled_starts ?? []).filter(each => each >= window.start.toISOString())
    extended.push({
      id: root.id,
      cancelled_starts: [...new Set([...kept, ...(added.cancelledStarts ?? [])])],
    })
  }
  await insertSpans(unit, account, calendarId, spans)
  if (extended.length === 0) return others
  await sql`
    update calendar_event set spanned_until = ${window.end}, cancelled_starts = next.cancelled_starts
    from json_to_recordset(${JSON.stringify(extended)}::json) as next (id uuid, cancelled_starts jsonb)
    where calendar_event.id = next.id
  `.execute(unit.sql)
  return others
}

/** The time from which a series lacks its occurrences; null if it must be made again as a whole. */
function extendedFrom(
  { zone_release, spanned_until: until, is_truncated }: EventRow,
  window: CalendarWindow,
) {
  if (zone_release !== ZONE_DATA_RELEASE || until === null || is_truncated) return null
  return until >= window.start && until <= clockLimit(window) ? until : null
}
