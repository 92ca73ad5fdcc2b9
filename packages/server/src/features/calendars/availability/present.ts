import type {
  AccountAvailability,
  AvailabilityExplanation,
  SharedAvailability,
} from '@waxwing/contract/calendars/availability.ts'
import { clipRanges, mergeRanges, type TimeRange } from './busy-times.ts'
import type { Availability } from './find-availability.ts'
import type { FoundSlots } from './find-slots.ts'
import type { Party, Refusal } from './watch-party.ts'

interface Presenting {
  /** The range that was asked about. */
  range: TimeRange
  explain: boolean
}

export function presentAvailability(found: Availability, presenting: Presenting): AccountAvailability {
  const [account] = found.accounts
  return {
    busy: busyOf(account!, presenting.range),
    slots: found.found.slots.map(presentRange),
    ...presentAnswer(found, presenting),
  }
}

export function presentShared(found: Availability, presenting: Presenting): SharedAvailability {
  return {
    slots: found.found.slots.map(slot => ({ ...presentRange(slot), accountIds: slot.accountIds })),
    accounts: found.accounts
      .filter(({ busy }) => busy !== null)
      .map(account => ({ accountId: account.accountId, busy: busyOf(account, presenting.range) })),
    ...presentAnswer(found, presenting),
  }
}

type Answer = Omit<AccountAvailability, 'busy' | 'slots'>

function presentAnswer({ accounts, attendees, found }: Availability, { range, explain }: Presenting): Answer {
  const unresolved = [
    ...accounts.filter(({ busy }) => busy === null).map(({ accountId }) => accountId),
    ...attendees.filter(({ busy }) => busy === null).map(({ address }) => address),
  ]
  return {
    attendees: attendees.map(attendee => ({
      address: attendee.address,
      busy: busyOf(attendee, range),
      resolved: attendee.busy !== null,
    })),
    complete: unresolved.length === 0 && !accounts.some(({ isTruncated }) => isTruncated),
    unresolved,
    truncated: found.isTruncated,
    ...(explain && { explanation: presentExplanation(accounts, found) }),
  }
}

function presentExplanation(
  accounts: Availability['accounts'],
  { refused, isExplanationTruncated }: FoundSlots,
): AvailabilityExplanation {
  return {
    accounts: accounts.map(({ accountId, provenAt, calendars }) => ({
      accountId,
      asOf: provenAt?.toISOString() ?? null,
      calendars,
    })),
    refused: refused.map(({ reasons, ...slot }) => ({
      ...presentRange(slot),
      reasons: reasons.map(presentRefusal),
    })),
    truncated: isExplanationTruncated,
  }
}

function presentRefusal({ code, accountId, address, time }: Refusal) {
  const { start, end } = time ? presentRange(time) : { start: null, end: null }
  return { code, accountId, address, eventId: time?.eventId ?? null, start, end }
}

const busyOf = ({ busy }: Pick<Party, 'busy'>, range: TimeRange) =>
  clipRanges(mergeRanges(busy ?? []), range).map(presentRange)

const presentRange = ({ start, end }: TimeRange) => ({
  start: new Date(start).toISOString(),
  end: new Date(end).toISOString(),
})
