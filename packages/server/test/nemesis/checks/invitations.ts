import { MEETING } from '../event-names.ts'
import type { EventMark } from '../history.ts'
import type { Check } from '../violation.ts'
import { markedRequests } from './calendars.ts'

/**
 * I17: the guest of each meeting is sent one invitation, and one cancellation once the meeting is deleted, none of them twice.
 * That each of these mails leaves at most once is I3, and that it leaves, I4.
 */
export const checkInvitations: Check = ({ history, end }) => {
  const queued = Map.groupBy(end.invitations, ({ eventId }) => eventId)
  const marked = markedRequests(history).filter(({ event }) => event.subject.startsWith(MEETING))
  const deletions = marked.filter(({ method }) => method === 'DELETE')
  const asked = new Set(deletions.map(({ event }) => nameOf(event)))
  const deleted = new Set(
    deletions.filter(({ outcome }) => outcome === 'ok').map(({ event }) => nameOf(event)),
  )
  const made = marked.filter(({ method, outcome }) => method === 'POST' && outcome === 'ok')
  return [...new Map(made.map(({ madeId, event }) => [madeId ?? '', event]))].flatMap(([id, event]) => {
    const name = nameOf(event)
    const count = queued.get(id)?.length ?? 0
    const least = deleted.has(name) ? 2 : 1
    // A deletion without an answer may have been made.
    const most = asked.has(name) ? 2 : 1
    if (count >= least && count <= most) return []
    return [{ invariant: 'I17', message: `${count} mails were queued, not ${least}, about ${name}` }]
  })
}

const nameOf = ({ accountId, subject }: EventMark) => `“${subject}” of account ${accountId}`
