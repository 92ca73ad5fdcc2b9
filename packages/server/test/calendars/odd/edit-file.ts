import { splitFile } from '../../../src/kit/content-lines/content-file.ts'
import { zoneOfTzid } from '../../../src/kit/zones/zone-of-tzid.ts'
import type { EventChange } from '../../../src/providers/changing-calendars.ts'
import { editEvents, type EditOptions } from '../../../src/providers/dav/events/edit-events.ts'
import type { EventEdit } from '../../../src/providers/dav/events/event-edit.ts'
import { readEvents, type ResolveZone } from '../../../src/providers/dav/events/read-events.ts'

/* Edits of calendar files as the adapter makes them, and the lines that differ after them. */

export const SELF = { name: 'Ada', address: 'ada@example.com' }
export const OPTIONS: EditOptions = {
  self: SELF,
  own: new Set([SELF.address]),
  agent: null,
  now: new Date('2026-11-29T12:00:00Z'),
}
const window = { start: new Date('2026-09-01T00:00:00Z'), end: new Date('2027-11-29T00:00:00Z') }
const zones = new Map<string, string | null>()

/** Each TZID has the same definition in all files, so it is resolved once. */
const resolve: ResolveZone = (tzid, definition) => {
  if (!zones.has(tzid))
    zones.set(tzid, zoneOfTzid({ tzid, definition, preferred: 'Europe/Berlin', window }).zone)
  return zones.get(tzid)!
}

export const read = (bytes: Buffer) => readEvents(bytes, resolve)!

export const edit = (bytes: Buffer, asked: EventEdit, options: Partial<EditOptions> = {}) =>
  editEvents(bytes, asked, { ...OPTIONS, ...options }, resolve)!

export const changeAll = (bytes: Buffer, change: EventChange, timesOf: string | null = null) =>
  edit(bytes, {
    type: 'change',
    part: {
      type: 'all',
      timesOf: timesOf === null ? null : { member: timesOf, memberKey: null, seriesStart: null },
    },
    change,
  })

export const member = (wall: string) => ({ type: 'member', member: wall, memberKey: null }) as const

export const STAMPS = ['DTSTAMP', 'LAST-MODIFIED']
export const REVISION = [...STAMPS, 'SEQUENCE']

/** The lines of a file with their bytes, folds included. */
function linesOf(bytes: Buffer): Array<{ name: string; bytes: string }> {
  return splitFile(bytes).lines.map(({ content, start, end }) => ({
    name: content?.name ?? '',
    bytes: bytes.subarray(start, end).toString('latin1'),
  }))
}

/** Names of the lines that differ between two files. All others must be the same bytes in the same order. */
export function changedNames(before: Buffer, after: Buffer): Set<string> {
  const [old, next] = [linesOf(before), linesOf(after)]
  // The longest common subsequence.
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(next.length + 1))
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = next.length - 1; j >= 0; j--)
      lengths[i]![j] =
        old[i]!.bytes === next[j]!.bytes
          ? lengths[i + 1]![j + 1]! + 1
          : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!)
  const names = new Set<string>()
  let [i, j] = [0, 0]
  while (i < old.length || j < next.length) {
    if (i < old.length && j < next.length && old[i]!.bytes === next[j]!.bytes) {
      i++
      j++
    } else if (j === next.length || (i < old.length && lengths[i + 1]![j]! >= lengths[i]![j + 1]!))
      names.add(old[i++]!.name)
    else names.add(next[j++]!.name)
  }
  return names
}
