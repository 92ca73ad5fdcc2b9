import { entriesOf, type HistoryEntry } from './history.ts'

/** Seconds until an account of a process that was killed was followed again. */
export interface Failover {
  seconds: number
  /** Whether another fault lasted at any time meanwhile. */
  isDisturbed: boolean
}

/** Measures how soon others, or the next process, followed the accounts of processes that were killed. */
export function measureFailovers(history: readonly HistoryEntry[]): Failover[] {
  const faults = entriesOf(history, 'fault')
  const byUser = Map.groupBy(entriesOf(history, 'session'), ({ user }) => user)
  return faults
    .filter(({ kind }) => kind === 'kill_process')
    .flatMap(kill =>
      [...byUser.values()].flatMap((sessions): Failover[] => {
        const wasFollowed = sessions.some(
          ({ process, from, at }) => process === kill.process && from < kill.from && at >= kill.from,
        )
        const next = sessions
          .filter(({ process, from }) => process !== kill.process && from > kill.from)
          .map(({ from }) => from)
        if (!wasFollowed || next.length === 0) return []
        const until = Math.min(...next)
        const isDisturbed = faults.some(
          fault => fault !== kill && fault.from < until && fault.at > kill.from && !isOfStores(fault.kind),
        )
        return [{ seconds: (until - kill.from) / 1_000, isDisturbed }]
      }),
    )
}

/** Following does not need them. */
function isOfStores(kind: string): boolean {
  return /^(redis|s3)_/.test(kind)
}

/** The least value that so large a share of them does not exceed; null of none. */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null
}
