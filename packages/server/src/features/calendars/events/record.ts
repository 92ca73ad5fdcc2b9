import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { newId } from '../../../kit/ids.ts'
import { isStorableKey } from '../../../kit/storable.ts'
import type { RemoteEvent, RemoteObject } from '../../../providers/calendars.ts'
import type { CalendarAccount } from '../calendars/rules.ts'
import type { EventRow } from './event-row.ts'
import { applyGoneMember, applyItem, applyMember, isNothing, type ItemState, NOTHING_KNOWN } from './item.ts'
import { type HeldItem, loadItems } from './load-items.ts'
import { changedEventFields, presentEvent } from './present.ts'
import type { RecordingEvents } from './recording.ts'
import { shownOf, storableValue } from './shown.ts'
import { deleteItems, isSameItem, readEvents, writeItems, type WrittenItem } from './write-items.ts'

/**
 * Brings the index to objects of a calendar as they were read, and announces what differs. Together with `recordGone` the
 * only way in which events and their spans change. The calendars of the account must be locked.
 */
export async function recordEvents(
  unit: UnitOfWork,
  account: CalendarAccount,
  remotes: readonly RemoteObject[],
  options: RecordingEvents,
): Promise<void> {
  const storableOnes = remotes.filter(remote => isStorableKey(remote.key) && isStorableKey(itemKeyOf(remote)))
  if (storableOnes.length === 0) return
  const held = await loadItems(unit, options.calendarId, storableOnes.map(itemKeyOf))
  const next = new Map<string, ItemState>()
  const show = (event: RemoteEvent) => ({
    shown: shownOf(event, options.own),
    body: event.body && storableValue(event.body),
    updatedAt: event.updatedAt,
  })
  for (const remote of storableOnes) {
    const key = itemKeyOf(remote)
    const before = next.get(key) ?? held.get(key)?.state ?? NOTHING_KNOWN
    next.set(
      key,
      remote.type === 'item' ? applyItem(before, remote, show) : applyMember(before, remote, show),
    )
  }
  await recordItems(unit, account, { held, next, options })
}

/** Deletes what the provider no longer has under these keys: items, or exceptions that are none any more. */
export async function recordGone(
  unit: UnitOfWork,
  account: CalendarAccount,
  keys: readonly string[],
  options: RecordingEvents,
): Promise<void> {
  if (keys.length === 0) return
  const gone = new Set(keys)
  const held = await loadItems(unit, options.calendarId, keys)
  const next = new Map<string, ItemState>()
  for (const [key, { state }] of held) {
    const left = gone.has(key) ? NOTHING_KNOWN : [...gone].reduce(applyGoneMember, state)
    next.set(key, left)
  }
  await recordItems(unit, account, { held, next, options })
}

const itemKeyOf = (remote: RemoteObject) => (remote.type === 'item' ? remote.key : remote.seriesKey)

async function recordItems(
  unit: UnitOfWork,
  account: CalendarAccount,
  changes: { held: Map<string, HeldItem>; next: Map<string, ItemState>; options: RecordingEvents },
): Promise<void> {
  const { held, next, options } = changes
  const written: WrittenItem[] = []
  const deleted: HeldItem[] = []
  for (const [key, state] of next) {
    const before = held.get(key) ?? null
    if (isNothing(state)) {
      if (before) deleted.push(before)
    } else if (!before || !isSameItem(before, state)) {
      written.push({ id: before?.root.id ?? newId(), key, before, state })
    }
  }
  await deleteItems(
    unit,
    deleted.map(({ root }) => root.id),
  )
  await writeItems(unit, account, written, options)
  if (!account.isInitialized) return
  const now = await readEvents(
    unit,
    written.map(({ id }) => id),
  )
  for (const item of deleted) announceDeleted(unit, account, item)
  for (const { id, before } of written)
    announceChanges(unit, account, before ? rowsOf(before) : [], now.get(id) ?? [])
}

const rowsOf = ({ root, exceptions }: HeldItem) => [root, ...exceptions.values()]

/** A series that is deleted takes its exceptions along in silence. */
function announceDeleted(unit: UnitOfWork, account: CalendarAccount, { root, exceptions }: HeldItem): void {
  const gone = root.shown ? [root] : [...exceptions.values()]
  for (const row of gone) announce(unit, account, row, event => ({ type: 'calendar_event.deleted', event }))
}

function announceChanges(
  unit: UnitOfWork,
  account: CalendarAccount,
  before: readonly EventRow[],
  after: readonly EventRow[],
): void {
  const left = new Map(before.map(row => [row.id, row]))
  for (const row of after) {
    const known = left.get(row.id)
    left.delete(row.id)
    const was = known ? presentEvent(known) : null
    if (was === null) announce(unit, account, row, event => ({ type: 'calendar_event.created', event }))
    else announce(unit, account, row, event => ({ type: 'calendar_event.updated', event, was }))
  }
  for (const row of left.values())
    announce(unit, account, row, event => ({ type: 'calendar_event.deleted', event }))
}

type Announced =
  | { type: 'calendar_event.created' | 'calendar_event.deleted'; event: CalendarEvent }
  | { type: 'calendar_event.updated'; event: CalendarEvent; was: CalendarEvent }

function announce(
  unit: UnitOfWork,
  { id: accountId }: CalendarAccount,
  row: EventRow,
  of: (event: CalendarEvent) => Announced,
): void {
  const event = presentEvent(row)
  if (event === null) return
  const announced = of(event)
  if (announced.type !== 'calendar_event.updated') {
    unit.announce({ type: announced.type, accountId, data: { event } })
    return
  }
  const changes = changedEventFields(announced.was, event)
  if (changes.length > 0) unit.announce({ type: announced.type, accountId, data: { event, changes } })
}
