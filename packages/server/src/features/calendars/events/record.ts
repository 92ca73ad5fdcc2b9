import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { newId } from '../../../kit/ids.ts'
import type { Steps } from '../../../kit/sliced-work.ts'
import { isStorableKey } from '../../../kit/storable.ts'
import type { CalendarWindow, RemoteEvent, RemoteObject } from '../../../providers/calendars.ts'
import type { CalendarAccount } from '../calendars/rules.ts'
import { announceDeleted, announceWritten } from './announce.ts'
import { deleteItems } from './delete-items.ts'
import {
  applyGoneMembers,
  applyItem,
  applyMember,
  isNothing,
  type ItemState,
  NOTHING_KNOWN,
  withinWindow,
} from './item.ts'
import { type HeldItem, loadItems, loadItemsById, type WrittenItem } from './load-items.ts'
import { clearMissing, loadMoved, markMissing, movable } from './missing.ts'
import type { RecordingEvents } from './recording.ts'
import { shownOf, storableValue } from './shown.ts'
import { sameItemSteps, writeItems } from './write-items.ts'

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
  const known = await loadItems(unit, options.calendarId, storableOnes.map(itemKeyOf))
  const arrived = movable(storableOnes).filter(({ key }) => !known.has(key))
  const moved = await loadMoved(unit, account, {
    arrived,
    goneIds: options.goneIds ?? new Set(),
    known: [...known.values()],
  })
  const named = await takeNamed(unit, account, options, known)
  const held = new Map([...known, ...moved, ...named])
  const shownEvents = await options.planner.inSlices(showSteps(storableOnes, options.own))
  const show = (event: RemoteEvent) => shownEvents.get(event) ?? showEvent(event, options.own)
  const next = await options.planner.inSlices(applySteps(storableOnes, held, show))
  await recordItems(unit, account, { held, next, options })
}

/** The items after these objects were read. */
function* applySteps(
  remotes: readonly RemoteObject[],
  held: ReadonlyMap<string, HeldItem>,
  show: (event: RemoteEvent) => ReturnType<typeof showEvent>,
): Steps<Map<string, ItemState>> {
  const next = new Map<string, ItemState>()
  for (const remote of remotes) {
    const key = itemKeyOf(remote)
    const before = next.get(key) ?? held.get(key)?.state ?? NOTHING_KNOWN
    const applied =
      remote.type === 'item' ? applyItem(before, remote, show) : applyMember(before, remote, show)
    next.set(key, yield* applied)
  }
  return next
}

/** Items that have moved to these keys. Items that the sync has found there meanwhile give way to them. */
async function takeNamed(
  unit: UnitOfWork,
  account: CalendarAccount,
  { formerIds = new Map(), window }: RecordingEvents,
  known: ReadonlyMap<string, HeldItem>,
): Promise<Map<string, HeldItem>> {
  const keyOf = new Map(
    [...formerIds].flatMap(([key, id]) => (known.get(key)?.root.id === id ? [] : [[id, key] as const])),
  )
  if (keyOf.size === 0) return new Map()
  const items = await loadItemsById(unit, account.id, [...keyOf.keys()])
  const named = new Map(items.map(item => [keyOf.get(item.root.id) ?? '', item]))
  const found = [...named.keys()].flatMap(key => known.get(key) ?? [])
  await deleteItems(
    unit,
    found.map(({ root }) => root.id),
  )
  if (account.isInitialized) for (const item of found) announceDeleted(unit, account, item, window)
  return named
}

/** Shows events, each as the index stores it, by the events that were read. */
export function* showSteps(
  remotes: readonly RemoteObject[],
  own: ReadonlySet<string>,
): Steps<Map<RemoteEvent, ReturnType<typeof showEvent>>> {
  const shown = new Map<RemoteEvent, ReturnType<typeof showEvent>>()
  for (const remote of remotes) {
    const exceptions = remote.type === 'item' ? (remote.members?.exceptions ?? []) : []
    for (const event of [remote.event, ...exceptions.map(exception => exception.event)]) {
      if (event) shown.set(event, showEvent(event, own))
      yield
    }
  }
  return shown
}

const showEvent = (event: RemoteEvent, own: ReadonlySet<string>) => ({
  shown: shownOf(event, own),
  body: event.body && storableValue(event.body),
  updatedAt: event.updatedAt,
})

/**
 * Records that the provider no longer has these keys: deletes items, or exceptions that are none any more. Items that are
 * known again by their UIDs may have moved, and are only missing.
 * @param isCertain whether no item has moved
 */
export async function recordGone(
  unit: UnitOfWork,
  account: CalendarAccount,
  keys: readonly string[],
  options: RecordingEvents,
  isCertain = false,
): Promise<void> {
  if (keys.length === 0) return
  const missing = isCertain ? new Set<string>() : await markMissing(unit, account, options.calendarId, keys)
  const gone = new Set(keys.filter(key => !missing.has(key)))
  const held = await loadItems(unit, options.calendarId, [...gone])
  const next = new Map<string, ItemState>()
  for (const [key, { state }] of held)
    if (!missing.has(key)) next.set(key, gone.has(key) ? NOTHING_KNOWN : applyGoneMembers(state, gone))
  await recordItems(unit, account, { held, next, options })
}

function* sameSteps(before: ItemState, state: ItemState, window: CalendarWindow): Steps<boolean> {
  return yield* sameItemSteps(yield* withinWindow(before, window), state)
}

/** Whether an item is in another place than where it was read. */
const isElsewhere = ({ root }: HeldItem, key: string, { calendarId }: RecordingEvents) =>
  root.calendar_id !== calendarId || root.provider_key !== key

const itemKeyOf = (remote: RemoteObject) => (remote.type === 'item' ? remote.key : remote.seriesKey)

async function recordItems(
  unit: UnitOfWork,
  account: CalendarAccount,
  changes: { held: Map<string, HeldItem>; next: Map<string, ItemState>; options: RecordingEvents },
): Promise<void> {
  const { held, next, options } = changes
  const { window, planner } = options
  const changed: WrittenItem[] = []
  const deleted: HeldItem[] = []
  for (const [key, told] of next) {
    const before = held.get(key) ?? null
    const state = await planner.inSlices(withinWindow(told, window))
    if (isNothing(state)) {
      if (before) deleted.push(before)
    } else if (
      !before ||
      isElsewhere(before, key, options) ||
      !(await planner.inSlices(sameSteps(before.state, state, window)))
    ) {
      changed.push({ id: before?.root.id ?? newId(), key, before, state })
    }
  }
  await deleteItems(
    unit,
    deleted.map(({ root }) => root.id),
  )
  const found = [...next.keys()].flatMap(key => held.get(key)?.root ?? [])
  await clearMissing(
    unit,
    found.filter(root => root.missing_look !== null).map(({ id }) => id),
  )
  const written = await writeItems(unit, account, changed, options)
  if (!account.isInitialized) return
  for (const item of deleted) announceDeleted(unit, account, item, window)
  await announceWritten(unit, account, written, options)
}
