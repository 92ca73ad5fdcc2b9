import type { Steps } from '../../../kit/sliced-work.ts'
import type { TimeRange } from './busy-times.ts'
import { gridSlots, type SlotQuestion } from './grid.ts'
import { type BufferedSlot, type Party, type Refusal, type WatchedParty, watchParty } from './watch-party.ts'

const SLOTS_MAX = 2_000
const REFUSED_MAX = 1_000
/** With many accounts, each slot may have many reasons. */
const REASONS_MAX = 10_000
/** Closed slots that are explained: a night has many of them, and others are to be explained as well. */
const CLOSED_MAX = 500
/** Slots of the grid that are looked at in one step of work. */
const STEP_SLOTS = 200

export interface FreeQuestion extends SlotQuestion {
  accounts: readonly Party[]
  attendees: readonly Party[]
  mode: 'all' | 'any'
  /** Whether an account or attendee of whom nothing is known is in the way. Without any account that is known, there are no slots. */
  requireAll: boolean
  explain: boolean
}

export interface FreeSlot extends TimeRange {
  accountIds: string[]
}

export interface RefusedSlot extends TimeRange {
  reasons: Refusal[]
}

export interface FoundSlots {
  slots: FreeSlot[]
  /** Whether there are more. */
  isTruncated: boolean
  /** Empty unless an explanation was asked for. */
  refused: RefusedSlot[]
  isExplanationTruncated: boolean
}

const OUTSIDE_HOURS: Refusal = { code: 'outside_hours', accountId: null, address: null, time: null }

/** Decides about each slot of the grid, in one pass: it is offered, or refused for reasons that are noted if asked for. */
export function* findSlots(question: FreeQuestion): Steps<FoundSlots> {
  const { accounts, attendees, mode, requireAll, explain, before, after } = question
  const hosts: WatchedParty[] = []
  for (const party of accounts) {
    hosts.push(watchParty(party, true))
    yield
  }
  const knownHosts = hosts.filter(({ party }) => party.busy !== null)
  const isUnknownInTheWay = knownHosts.length === 0 || (requireAll && knownHosts.length < hosts.length)
  const deciding = isUnknownInTheWay ? hosts : knownHosts
  const guests = attendees.map(party => watchParty(party, requireAll))
  const found: FoundSlots = { slots: [], isTruncated: false, refused: [], isExplanationTruncated: false }
  let [looked, reasonsLeft, closed] = [0, REASONS_MAX, 0]

  function refuse({ start, end }: TimeRange, reasons: Refusal[]): void {
    if (found.refused.length === REFUSED_MAX || reasons.length > reasonsLeft) {
      found.isExplanationTruncated = true
      reasonsLeft = 0
    } else {
      found.refused.push({ start, end, reasons })
      reasonsLeft -= reasons.length
    }
  }

  for (const slot of gridSlots(question)) {
    if (++looked % STEP_SLOTS === 0) yield
    if (!slot.isOpen) {
      if (explain && closed++ < CLOSED_MAX) refuse(slot, [OUTSIDE_HOURS])
      else if (explain) found.isExplanationTruncated = true
      continue
    }
    const asked = { slot, buffered: { start: slot.start - before, end: slot.end + after } }
    const free = knownHosts.filter(host => host.isFree(asked))
    const isEnough = mode === 'all' ? free.length === knownHosts.length : free.length > 0
    const isHosted = isEnough && !isUnknownInTheWay
    if (isHosted && guests.every(guest => guest.isFree(asked))) {
      if (found.slots.length === SLOTS_MAX) {
        found.isTruncated = true
        found.isExplanationTruncated = explain
        break
      }
      const accountIds = free.flatMap(({ party }) => party.accountId ?? [])
      found.slots.push({ start: slot.start, end: slot.end, accountIds })
    } else if (explain) refuse(slot, refusalsOf(isHosted ? guests : [...deciding, ...guests], asked))
  }
  return found
}

const refusalsOf = (parties: readonly WatchedParty[], asked: BufferedSlot): Refusal[] =>
  parties.filter(party => !party.isFree(asked)).map(party => party.refusal(asked))
