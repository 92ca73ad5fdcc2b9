import type {
  AccountAvailability,
  AvailabilityExplanation,
  SharedAvailability,
} from '@waxwing/contract/calendars/availability.ts'
import { clipRanges, mergeRanges, type TimeRange } from './busy-times.ts'
import type { Availability } from './find-availability.ts'
import type { FoundSlots } from './find-slots.ts'
import { openRangePrinter, type PrintRange } from './print-times.ts'
import type { Party, Refusal } from './watch-party.ts'

interface Presenting {
  print: PrintRange
  /** The range that was asked about. */
  range: TimeRange
  explain: boolean
}

type Asked = Omit<Presenting, 'print'>

export function presentAvailability(found: Availability, asked: Asked): AccountAvailability {
  const presenting = { ...asked, print: openRangePrinter() }
  const [account] = found.accounts
  return {
    busy: busyOf(account!, presenting),
    slots: found.found.slots.map(presenting.print),
    ...presentAnswer(found, presenting),
  }
}

export function presentShared(found: Availability, asked: Asked): SharedAvailability {
  const presenting = { ...asked, print: openRangePrinter() }
  return {
    slots: found.found.slots.map(slot => ({ ...presenting.print(slot), accountIds: slot.accountIds })),
    accounts: found.accounts
      .filter(({ busy }) => busy !== null)
      .map(account => ({ accountId: account.accountId, busy: busyOf(account, presenting) })),
    ...presentAnswer(found, presenting),
  }
}

type Answer = Omit<AccountAvailability, 'busy' | 'slots'>

function presentAnswer({ accounts, attendees, found }: Availability, presenting: Presenting): Answer {
  const unresolved = [
    ...accounts.filter(({ busy }) => busy === null).map(({ accountId }) => accountId),
    ...attendees.filter(({ busy }) => busy === null).map(({ address }) => address),
  ]
  return {
    attendees: attendees.map(attendee => ({
      address: attendee.address,
      busy: busyOf(attendee, presenting),
      resolved: attendee.busy !== null,
    })),
    complete: unresolved.length === 0 && !accounts.some(({ isTruncated }) => isTruncated),
    unresolved,
    truncated: found.isTruncated,
    ...(presenting.explain && { explanation: presentExplanation(accounts, found, presenting.print) }),
  }
}

function presentExplanation(
  accounts: Availability['accounts'],
  { refused, isExplanationTruncated }: FoundSlots,
  print: PrintRange,
): AvailabilityExplanation {
  return {
    accounts: accounts.map(({ accountId, provenAt, calendars }) => ({
      accountId,
      asOf: provenAt?.toISOString() ?? null,
      calendars,
    })),
    refused: refused.map(({ reasons, ...slot }) => ({
      ...print(slot),
      reasons: reasons.map(reason => presentRefusal(reason, print)),
    })),
    truncated: isExplanationTruncated,
  }
}

function presentRefusal({ code, accountId, address, time }: Refusal, print: PrintRange) {
  const { start, end } = time ? print(time) : { start: null, end: null }
  return { code, accountId, address, eventId: time?.eventId ?? null, start, end }
}

const busyOf = ({ busy }: Pick<Party, 'busy'>, { range, print }: Presenting) =>
  clipRanges(mergeRanges(busy ?? []), range).map(print)
