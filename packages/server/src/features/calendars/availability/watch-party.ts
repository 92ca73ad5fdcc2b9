import type { AvailabilityExplanation } from '@waxwing/contract/calendars/availability.ts'
import { type BusyTime, mergeRanges, type TimeRange } from './busy-times.ts'

/** An account or an attendee who must be free. */
export interface Party {
  /** Null: an attendee. */
  accountId: string | null
  /** Null: an account. */
  address: string | null
  /** In the order of their starts. Null: unknown. */
  busy: readonly BusyTime[] | null
}

type Reason = AvailabilityExplanation['refused'][number]['reasons'][number]
/** Why a slot is refused. */
export interface Refusal extends Pick<Reason, 'code' | 'accountId' | 'address'> {
  /** The busy time that is in the way. Null: none is. */
  time: BusyTime | null
}

/** A slot with its buffers. */
export interface BufferedSlot {
  slot: TimeRange
  buffered: TimeRange
}

/** A party of which is asked, slot by slot in the order of their starts, whether it is free. */
export interface WatchedParty {
  party: Party
  /** Whether the party is free during a slot and its buffers. */
  isFree(asked: BufferedSlot): boolean
  /** Why it is not. */
  refusal(asked: BufferedSlot): Refusal
}

/** @param blocks whether a party of which nothing is known counts as busy */
export function watchParty(party: Party, blocks: boolean): WatchedParty {
  const { busy, accountId, address } = party
  const named = { accountId, address }
  if (busy === null)
    return {
      party,
      isFree: () => !blocks,
      refusal: () => ({ code: 'unresolved', ...named, time: null }),
    }
  const times = busy.filter(({ start, end }) => end > start)
  const merged = mergeRanges(times)
  // All before these end before the slot that was asked about last.
  let [nextMerged, nextTime] = [0, 0]
  return {
    party,
    isFree({ buffered }) {
      while (nextMerged < merged.length && merged[nextMerged]!.end <= buffered.start) nextMerged++
      const next = merged[nextMerged]
      return next === undefined || next.start >= buffered.end
    },
    refusal({ slot, buffered }) {
      while (nextTime < times.length && times[nextTime]!.end <= buffered.start) nextTime++
      let inBuffer: BusyTime | null = null
      for (let at = nextTime; at < times.length && times[at]!.start < buffered.end; at++) {
        const time = times[at]!
        if (overlap(time, slot)) return { code: 'busy', ...named, time }
        if (inBuffer === null && overlap(time, buffered)) inBuffer = time
      }
      return { code: 'buffer', ...named, time: inBuffer }
    },
  }
}

const overlap = (one: TimeRange, other: TimeRange): boolean => one.start < other.end && one.end > other.start
