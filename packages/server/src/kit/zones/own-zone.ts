import { DAY_MS } from '../wall-clock.ts'
import type { Transitions } from './transitions.ts'

/**
 * References to zones that are not in the IANA database. A reference carries the transitions, so that it can be stored like
 * the name of a zone: `own:` and the offsets in seconds, separated by commas; `;` and for each transition the seconds since
 * the one before (of the first since 1970), `:`, and the index of its offset. The offset before all transitions is the
 * first. All numbers have the base 36.
 */

const PREFIX = 'own:'
/** Transitions of a reference. Two a year from 1970 up to 2100 are 260. */
export const OWN_TRANSITIONS_MAX = 400
const OFFSETS_MAX = 36
const REFERENCE_LENGTH_MAX = 8000
/** Tables of references that were read before. */
const TABLES_MAX = 500

const FORM =
  /^own:((?:-?[0-9a-z]{1,4},)*-?[0-9a-z]{1,4});((?:-?[0-9a-z]{1,8}:[0-9a-z],)*(?:-?[0-9a-z]{1,8}:[0-9a-z])?)$/

const tables = new Map<string, Transitions>()

export const isOwnZone = (zone: string): boolean => zone.startsWith(PREFIX)

/** Names a zone by its transitions, which lie in whole seconds. Null if they exceed the bounds of a reference. */
export function nameOwnZone({ at, offsets }: Transitions): string | null {
  const unique = [...new Set(offsets)]
  const isTooFar = unique.some(offset => Math.abs(offset) > DAY_MS)
  if (at.length > OWN_TRANSITIONS_MAX || unique.length > OFFSETS_MAX || isTooFar) return null
  const steps = at.map((instant, index) => {
    const seconds = (instant - (at[index - 1] ?? 0)) / 1000
    return `${seconds.toString(36)}:${unique.indexOf(offsets[index + 1]!).toString(36)}`
  })
  return `${PREFIX}${unique.map(offset => (offset / 1000).toString(36)).join(',')};${steps.join(',')}`
}

/** @throws RangeError if it is not a reference that `nameOwnZone` makes */
export function requireOwnTable(zone: string): Transitions {
  const known = tables.get(zone)
  if (known) return known
  const table = readReference(zone)
  if (!table) throw new RangeError(`${zone.slice(0, 40)} is no reference to a time zone`)
  if (tables.size >= TABLES_MAX) tables.clear()
  tables.set(zone, table)
  return table
}

function readReference(zone: string): Transitions | null {
  const match = zone.length <= REFERENCE_LENGTH_MAX ? FORM.exec(zone) : null
  if (!match) return null
  const unique = match[1]!.split(',').map(offset => Number.parseInt(offset, 36) * 1000)
  if (unique.some(offset => Math.abs(offset) > DAY_MS)) return null
  const at: number[] = []
  const offsets = [unique[0]!]
  for (const step of match[2] ? match[2].split(',') : []) {
    const [seconds, index] = step.split(':').map(digits => Number.parseInt(digits, 36))
    const instant = (at.at(-1) ?? 0) + seconds! * 1000
    const offset = unique[index!]
    if (offset === undefined || (at.length > 0 && instant <= at.at(-1)!)) return null
    at.push(instant)
    offsets.push(offset)
  }
  return at.length <= OWN_TRANSITIONS_MAX ? { at, offsets } : null
}
