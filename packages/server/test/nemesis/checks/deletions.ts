import type { DeletedAccount } from '../evidence.ts'
import type { Check, Violation } from '../violation.ts'

/** I12: once the deletion of an account was acknowledged and it was purged, nothing of it is left, sent or followed. */
export const checkDeletions: Check = ({ end }) => end.deleted.flatMap(judge)

function judge({ accountId, tablesLeft, acceptedCount, events, isFollowed }: DeletedAccount): Violation[] {
  const name = `the deleted account ${accountId}`
  const from = events.indexOf('account.deleted')
  const last = from < 0 ? [] : events.slice(from)
  return [
    ...tablesLeft.map(table => broken(`something of ${name} is left in ${table}`)),
    ...(acceptedCount > 0 ? [broken(`${acceptedCount} messages of ${name} were sent`)] : []),
    ...(isFollowed ? [broken(`${name} is still followed`)] : []),
    ...(last.join() === 'account.deleted,account.purged'
      ? []
      : [broken(`the last events of ${name} are ${last.join(', ') || 'not those of a deletion'}`)]),
  ]
}

function broken(message: string): Violation {
  return { invariant: 'I12', message }
}
