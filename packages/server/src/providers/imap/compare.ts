import { FlagBit, type RemoteFlags } from '../mail.ts'

/** Ranges of UIDs, ascending or not, as a server names them. */
export type UidRange = readonly [from: number, to: number]

/** Keeps commands below 8,192 octets, a length that every server should accept (RFC 7162 section 4). */
const SET_LENGTH_MAX = 7000

/** Cuts ascending UIDs into sets (`1:3,7`) of at most `countMax` UIDs, each short enough for a command. */
export function* uidSets(
  uids: Uint32Array | readonly number[],
  countMax: number,
): Generator<{ set: string; from: number; to: number }> {
  let set = ''
  let from = 0
  for (let at = 0; at < uids.length;) {
    const roomLeft = countMax - (at - from)
    let end = at + 1
    while (end < uids.length && end - at < roomLeft && uids[end] === uids[end - 1]! + 1) end++
    const range = end - at === 1 ? `${uids[at]}` : `${uids[at]}:${uids[end - 1]}`
    set = set === '' ? range : `${set},${range}`
    at = end
    if (at - from >= countMax || set.length > SET_LENGTH_MAX) {
      yield { set, from, to: at }
      set = ''
      from = at
    }
  }
  if (set !== '') yield { set, from, to: uids.length }
}

/** The ranges of a set that a server sent. Malformed parts are skipped. */
export function parseRanges(set: string): UidRange[] {
  const ranges: UidRange[] = []
  for (const part of set.split(',')) {
    const found = /^(\d{1,10})(?::(\d{1,10}))?$/.exec(part)
    if (!found) continue
    const first = Number(found[1])
    const second = found[2] === undefined ? first : Number(found[2])
    ranges.push([Math.min(first, second), Math.max(first, second)])
  }
  return ranges
}

/** The number of numbers in a set. */
export function countSet(set: string | null): number {
  let count = 0
  for (const range of (set ?? '').split(',')) {
    const [from = 0, to = from] = range.split(':').map(Number)
    if (Number.isSafeInteger(from) && Number.isSafeInteger(to) && from > 0) count += Math.abs(to - from) + 1
  }
  return count
}

/** The index of the first UID that is not below `uid`. The UIDs ascend. */
export function lowerBound(uids: Uint32Array, uid: number): number {
  let low = 0
  let high = uids.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (uids[middle]! < uid) low = middle + 1
    else high = middle
  }
  return low
}

export function hasUid(uids: Uint32Array, uid: number): boolean {
  return uids[lowerBound(uids, uid)] === uid
}

/** The UIDs of `known` within [from, below) that are not among `present`. Both ascend. */
export function missingFrom(known: Uint32Array, present: Uint32Array, from: number, below: number): number[] {
  const missing: number[] = []
  let other = lowerBound(present, from)
  for (let at = lowerBound(known, from); at < known.length && known[at]! < below; at++) {
    while (other < present.length && present[other]! < known[at]!) other++
    if (present[other] !== known[at]) missing.push(known[at]!)
  }
  return missing
}

/** The UIDs of `known` that are in the ranges, ascending. */
export function knownWithin(known: Uint32Array, ranges: readonly UidRange[]): number[] {
  const found = new Set<number>()
  for (const [from, to] of ranges) {
    for (let at = lowerBound(known, from); at < known.length && known[at]! <= to; at++) found.add(known[at]!)
  }
  return [...found].toSorted((a, b) => a - b)
}

function flagBits(flags: RemoteFlags): number {
  return (
    (flags.isRead ? FlagBit.read : 0) |
    (flags.isFlagged ? FlagBit.flagged : 0) |
    (flags.isDraft ? FlagBit.draft : 0) |
    (flags.categories.length > 0 ? FlagBit.categories : 0)
  )
}

/**
 * Whether flags differ from the indexed bits, or may differ: for categories the bits show only that there are some.
 */
export function mayDiffer(flags: RemoteFlags, indexedBits: number): boolean {
  const bits = flagBits(flags)
  return bits !== indexedBits || (bits & FlagBit.categories) !== 0
}
