import { MEETING } from '../event-names.ts'
import type { Check, Violation } from '../violation.ts'
import { markedRequests } from './calendars.ts'

/**
 * I17: the guest of each meeting is sent one invitation, and one cancellation once the meeting is deleted, none of them twice.
 * That each of these mails leaves at most once is I3, and that it leaves, I4.
 */
export const checkInvitations: Check = ({ history, end }) => {
  const queued = Map.groupBy(end.invitations, ({ accountId, subject }) => `${accountId} ${subject}`)
  const doubled = [...queued].flatMap(([name, { length }]) =>
    length === 1 ? [] : [broken(`${length} mails were queued: ${name}`)],
  )
  const meetings = markedRequests(history).filter(({ event }) => event.subject.startsWith(MEETING))
  const missing = meetings.flatMap(({ method, outcome, event: { accountId, subject } }) => {
    if (outcome !== 'ok') return []
    const label = method === 'POST' ? 'Invitation' : 'Cancelled'
    return queued.has(`${accountId} ${label}: ${subject}`)
      ? []
      : [broken(`nobody was sent “${label}: ${subject}” of account ${accountId}`)]
  })
  return [...doubled, ...missing]
}

function broken(message: string): Violation {
  return { invariant: 'I17', message }
}
