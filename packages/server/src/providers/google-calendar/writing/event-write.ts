import { setTimeout as sleep } from 'node:timers/promises'
import type { RemoteObject } from '../../calendars.ts'
import type { ItemPlace, MemberPlace, WriteOptions, WrittenEvents } from '../../changing-calendars.ts'
import type { EffectRecord } from '../../effect.ts'
import { ProviderFailure } from '../../failure.ts'
import { askEvent, isOvertaken, listInstances, patchEvent } from './event-calls.ts'
import { eventGone, type HeldEvent, type Json, readHeld } from './held-event.ts'
import { isMeetingPending } from './meeting-patch.ts'
import { readObjects, type WrittenCalendar } from './surroundings.ts'
import { originalStartOf } from './written-times.ts'

/** One write in a calendar. */
export interface EventWrite {
  calendar: WrittenCalendar
  options: WriteOptions
  record: EffectRecord
  /** Names a meeting that Google is to make. */
  requestId: string
}

/** A write is tried again three times if another client was faster. */
const TRIES_MAX = 4
/** Google makes most meetings within a second or two. */
const MEETING_MS_MAX = 10_000
const MEETING_PAUSE_MS = 200

/** Reads an event that is to be changed. Throws `not_found`. */
export async function askHeld({ calendar }: EventWrite, key: string): Promise<HeldEvent> {
  return readHeld(calendar, await askEvent(calendar.api, { calendarKey: calendar.key, key }))
}

/** Reads an event; null if it is gone. */
export async function findHeld(write: EventWrite, key: string): Promise<HeldEvent | null> {
  try {
    return await askHeld(write, key)
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return null
    throw error
  }
}

/** Reads a member of a series, by its key if that is known. Throws `not_found` if the series does not have it. */
export async function askMember(
  write: EventWrite,
  seriesKey: string,
  { member, memberKey }: MemberPlace,
): Promise<HeldEvent> {
  const known = memberKey === null ? null : await findHeld(write, memberKey)
  if (known?.seriesKey === seriesKey) return known
  const { start } = (await askHeld(write, seriesKey)).fields
  return askInstance(write, seriesKey, originalStartOf(member, start.zone))
}

/** @param originalStart as `originalStartOf` makes it */
export async function askInstance(
  { calendar }: EventWrite,
  seriesKey: string,
  originalStart: string,
): Promise<HeldEvent> {
  const place = { calendarKey: calendar.key, key: seriesKey }
  const { items } = await listInstances(calendar.api, place, originalStart)
  if (items.length === 0) throw eventGone()
  return readHeld(calendar, items[0])
}

/**
 * Changes an event as it is at Google, and reads it again if another client was faster.
 * @param plan the patch of the event as it was read. An empty one writes nothing
 * @returns the event before the change, and as it is answered after it
 */
export async function changeHeld(
  { calendar, options, record }: EventWrite,
  read: () => Promise<HeldEvent>,
  plan: (held: HeldEvent) => Json | Promise<Json>,
  notify: boolean = options.notify,
): Promise<{ before: HeldEvent; answered: unknown }> {
  for (let tries = 1; ; tries += 1) {
    const before = await read()
    const patch = await plan(before)
    if (Object.keys(patch).length === 0) return { before, answered: before.raw }
    const place = { calendarKey: calendar.key, key: before.key }
    try {
      const answered = await record.run(() =>
        patchEvent(calendar.api, place, patch, { notify, ifMatch: before.etag }),
      )
      return { before, answered }
    } catch (error) {
      if (!isOvertaken(error)) throw error
      if (tries === TRIES_MAX)
        throw new ProviderFailure('conflict', 'Other clients kept changing the event.', { cause: error })
    }
  }
}

/** Changes an event of a listing. It is read again if another client was faster. */
export function changeListed(
  write: EventWrite,
  listed: HeldEvent,
  plan: (held: HeldEvent) => Json,
): Promise<{ before: HeldEvent; answered: unknown }> {
  const first = [listed]
  return changeHeld(write, async () => first.pop() ?? askHeld(write, listed.key), plan)
}

/** Reads an event again until Google has made its meeting, for 10 seconds. */
export async function awaitMeeting({ calendar }: EventWrite, answered: unknown): Promise<unknown> {
  const until = performance.now() + MEETING_MS_MAX
  let held = readHeld(calendar, answered)
  for (let pause = MEETING_PAUSE_MS; isMeetingPending(held.raw); pause *= 1.5) {
    if (performance.now() + pause > until) break
    await sleep(pause)
    try {
      held = readHeld(calendar, await askEvent(calendar.api, { calendarKey: calendar.key, key: held.key }))
    } catch (error) {
      // The event is written, and the follower brings its meeting.
      if (!(error instanceof ProviderFailure)) throw error
      break
    }
  }
  return held.raw
}

/** The effect of a write in one calendar. */
export async function writtenEvents(
  { calendar }: EventWrite,
  key: string,
  answered: readonly unknown[],
  goneKeys: readonly string[] = [],
): Promise<WrittenEvents> {
  const { objects } = await readObjects(calendar, answered)
  return {
    items: objects.map((object: RemoteObject) => ({ calendarKey: calendar.key, object })),
    gone: goneKeys.map((gone): ItemPlace => ({ calendarKey: calendar.key, key: gone })),
    place: { calendarKey: calendar.key, key },
  }
}
