import { isRefusedValue } from '../../../database/refused-value.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isStorableKey } from '../../../kit/storable.ts'
import type { CalendarWindow, RemoteObject, UnreadableItem } from '../../../providers/calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { Cursor } from '../../../providers/mail.ts'
import { settledAnswer, withoutMarked } from '../../../sync/looks/marked.ts'
import { recordCursor } from '../calendars/record.ts'
import { findCalendarKey } from '../calendars/store.ts'
import { listSameUid, movable } from '../events/missing.ts'
import { recordEvents, recordGone } from '../events/record.ts'
import { sortStorable } from '../events/storable-object.ts'
import { findMarked, type MarkedKey, recordMarks, settleMarks } from '../marks/record-marks.ts'
import { findArriving, findLeaving } from '../writing/arriving.ts'
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
  /** Marks that the provider was asked about: of marked items, the step has only these. Absent: it has none. */
  settling?: readonly MarkedKey[]
}

/** A step that brings nothing. */
export const NOTHING_READ = { items: [], unreadable: [], gone: [], isComplete: false }

/**
 * Records one step of following a calendar, with its cursor, in one transaction. Items that the interface changed and of
 * which the provider was not asked since are left alone: the step may be older. Items with values that the database
 * cannot store are quarantined.
 */
export async function recordStep(
  session: Session,
  listed: ListedCalendar,
  window: CalendarWindow,
  step: RecordedStep,
): Promise<void> {
  const { items, unreadable } = sortStorable(step.items)
  const sorted = { ...step, items, unreadable: [...step.unreadable, ...unreadable] }
  try {
    await recordAll(session, listed, window, sorted)
  } catch (error) {
    if (!isRefusedValue(error) || items.length === 0) throw error
    const refused = await recordEach(session, listed, window, { items, settling: step.settling })
    await recordAll(session, listed, window, {
      ...sorted,
      items: [],
      unreadable: [...sorted.unreadable, ...refused],
    })
  }
  session.reportGuesses?.({ accountId: session.owned.id, calendarId: listed.calendar.id }, items)
}

/** Records items one by one. Returns those that the database refuses. */
async function recordEach(
  session: Session,
  listed: ListedCalendar,
  window: CalendarWindow,
  { items, settling }: { items: readonly RemoteObject[]; settling: readonly MarkedKey[] | undefined },
): Promise<UnreadableItem[]> {
  const refused: UnreadableItem[] = []
  for (const item of items)
    try {
      const own = settling && { settling: settling.filter(({ key }) => key === item.key) }
      await recordAll(session, listed, window, { ...NOTHING_READ, items: [item], ...own })
    } catch (error) {
      if (!isRefusedValue(error)) throw error
      refused.push({ key: item.key, version: item.version, reason: 'It has a value that cannot be stored' })
    }
  return refused
}

async function recordAll(
  session: Session,
  listed: ListedCalendar,
  window: CalendarWindow,
  step: RecordedStep,
): Promise<void> {
  const { calendar, unzoned } = listed
  const { cursor, isComplete } = step
  const goneIds = await findMovedFrom(session, listed, { items: step.items, window })
  await session.planner.run(session.owned.id, planner =>
    underFence(session, async (unit, account, own) => {
      // The interface deleted it meanwhile.
      if ((await findCalendarKey(unit.sql, calendar.id)) === null) return
      const recording = { calendarId: calendar.id, unzoned, window, own, planner, goneIds }
      const { items, unreadable, gone } = await recordable(unit, account.id, listed, step)
      await recordEvents(unit, account, items, recording)
      await recordGone(unit, account, gone, recording)
      await releaseFromQuarantine(unit, calendar.id, [...items.map(({ key }) => key), ...gone])
      await quarantine(unit, { accountId: account.id, calendarId: calendar.id }, unreadable)
      if (cursor !== undefined) await recordCursor(unit, calendar.id, { cursor, isComplete })
    }),
  )
}

/** The part of a step that may be recorded by now. */
async function recordable(
  unit: UnitOfWork,
  accountId: string,
  { calendar: { id: calendarId }, remote }: ListedCalendar,
  { items: all, unreadable, gone: allGone, settling }: RecordedStep,
): Promise<Pick<RecordedStep, 'items' | 'unreadable' | 'gone'>> {
  const at = { accountId, calendarId, calendarKey: remote.key }
  const arriving = await findArriving(unit, at, all)
  const items = all.filter(({ key }) => !arriving.has(key))
  const leaving = await findLeaving(unit, at, settling ? settling.map(({ key }) => key) : allGone)
  if (settling) {
    const read = new Set([...all, ...unreadable].map(({ key }) => key))
    const asked = settling.filter(({ key }) => !arriving.has(key) && (read.has(key) || !leaving.has(key)))
    const settled = await settleMarks(unit, calendarId, asked)
    return settledAnswer({ items, unreadable }, settled, ({ key }) => [key])
  }
  // The provider is asked about them later.
  await recordMarks(unit, accountId, calendarId, [...arriving, ...leaving])
  const gone = allGone.filter(key => !leaving.has(key))
  const keys = [...items, ...unreadable].map(({ key }) => key)
  const marked = await findMarked(unit, calendarId, [...keys, ...gone].filter(isStorableKey))
  if (marked.size === 0) return { items, unreadable, gone }
  const isFree = ({ key }: { key: string }) => !marked.has(key)
  return {
    items: items.filter(isFree),
    unreadable: unreadable.filter(isFree),
    gone: withoutMarked(gone, marked),
  }
}

/**
 * Items that have moved to where these items were read: the index has them under other keys, with the same UIDs, and the
 * provider no longer has these keys. Items that it still has are copies in other calendars.
 * @returns the ids of the items
 */
async function findMovedFrom(
  session: Session,
  { calendar, remote }: ListedCalendar,
  { items, window }: { items: readonly RemoteObject[]; window: CalendarWindow },
): Promise<Set<string>> {
  const { db, owned } = session
  const at = { accountId: owned.id, calendarId: calendar.id }
  const read = new Set(items.map(({ key }) => key))
  const held = (await listSameUid(db, at, movable(items))).filter(
    ({ calendarId, key }) => calendarId !== calendar.id || !read.has(key),
  )
  const gone = new Set<string>()
  for (const [calendarId, places] of Map.groupBy(held, place => place.calendarId)) {
    const calendarKey = await findCalendarKey(db, calendarId)
    if (calendarKey === null) continue
    for (let from = 0; from < places.length; from += READ_AT_ONCE) {
      const asked = places.slice(from, from + READ_AT_ONCE)
      const keys = asked.map(({ key }) => key)
      const there = await readKeys(session, { calendarKey, keys, window }, remote.key)
      for (const { id, key } of asked) if (!there.has(key)) gone.add(id)
    }
  }
  return gone
}

/**
 * The keys among these that a calendar has. A calendar that is gone has none. Another calendar that may not be read is
 * taken to have all of them, since the calendar that is followed can be read.
 */
async function readKeys(
  { provider, signal, progressed }: Session,
  asked: { calendarKey: string; keys: readonly string[]; window: CalendarWindow },
  followedKey: string,
): Promise<Set<string>> {
  try {
    const held = await provider.findHeld?.(asked, signal)
    const { items, unreadable } = held ? NOTHING_READ : await provider.read(asked, signal)
    progressed()
    return new Set(held ?? [...items, ...unreadable].map(({ key }) => key))
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    if (error.kind === 'not_found') return new Set()
    const isRefusal = error.kind === 'forbidden' || error.kind === 'rejected'
    if (isRefusal && asked.calendarKey !== followedKey) return new Set(asked.keys)
    throw error
  }
}
