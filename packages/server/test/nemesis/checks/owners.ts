import type { EndState, OwnerChange } from '../evidence.ts'
import { entriesOf, type FaultEntry, type HistoryEntry, type SessionEntry } from '../history.ts'
import type { Check, Violation } from '../violation.ts'

/** A process whose lease is valid keeps its accounts, but for the moment between two clocks. */
const LEASE_SECONDS_SPARE = 0.5
/** No lease lasts this long: a later end was set while the clock was ahead, and is void. */
const LEASE_SECONDS_MAX = 60

/** I7: one process at a time follows an account, and only the owner writes. */
export const checkOwners: Check = ({ history, end }) => [
  ...findSharedSessions(history, end.bounds.shared),
  ...findEarlyChanges(end.owners),
  ...findStaleWrites(end),
]

/** A process that is stopped cannot close its connection, so that time does not count. */
function findSharedSessions(history: readonly HistoryEntry[], secondsMax: number): Violation[] {
  const stops = entriesOf(history, 'fault').filter(({ kind }) => kind === 'stop_process')
  const byUser = Map.groupBy(entriesOf(history, 'session'), ({ user }) => user)
  return [...byUser].flatMap(([user, sessions]) =>
    sessions.flatMap((one, index) =>
      sessions.slice(index + 1).flatMap(other => {
        const seconds = one.process === other.process ? 0 : sharedSeconds(one, other, stops)
        if (seconds <= secondsMax) return []
        const both = `${one.process} and ${other.process}`
        return [broken(`${both} both followed ${user} for ${seconds.toFixed(1)} s`)]
      }),
    ),
  )
}

function sharedSeconds(one: SessionEntry, other: SessionEntry, stops: readonly FaultEntry[]): number {
  const [from, at] = [Math.max(one.from, other.from), Math.min(one.at, other.at)]
  const stopped = stops
    .filter(({ process }) => process === one.process || process === other.process)
    .reduce((sum, stop) => sum + Math.max(0, Math.min(at, stop.at) - Math.max(from, stop.from)), 0)
  return Math.max(0, at - from - stopped) / 1000
}

function findEarlyChanges(owners: readonly OwnerChange[]): Violation[] {
  const byAccount = Map.groupBy(owners, ({ accountId }) => accountId)
  return [...byAccount].flatMap(([accountId, changes]) =>
    changes.flatMap((change, index) => {
      const before = changes[index - 1]
      if (!before) return []
      const name = `account ${accountId}`
      const isTaken = change.instanceId !== null && change.instanceId !== before.instanceId
      if (isTaken && change.epoch <= before.epoch)
        return [broken(`${name}: the epoch went from ${before.epoch} to ${change.epoch}`)]
      const isLeft = before.instanceId !== null && change.instanceId !== before.instanceId
      // Nobody but its owner lets go of an account before the owner's lease has ended.
      const left = change.leaseSeconds ?? 0
      const isValid = left > LEASE_SECONDS_SPARE && left < LEASE_SECONDS_MAX
      if (isLeft && change.writer !== before.owner && isValid)
        return [
          broken(`${name} was taken from ${before.owner}, whose lease had ${change.leaseSeconds} s left`),
        ]
      return []
    }),
  )
}

function findStaleWrites({ staleWrites }: EndState): Violation[] {
  return staleWrites.map(({ accountId, writer, owner }) =>
    broken(`${writer} moved a cursor of account ${accountId}, which belonged to ${owner ?? 'nobody'}`),
  )
}

function broken(message: string): Violation {
  return { invariant: 'I7', message }
}
