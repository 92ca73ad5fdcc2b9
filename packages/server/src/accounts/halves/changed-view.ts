import type { AccountRow, AccountView } from '../row.ts'
import { ALL_KINDS, type HalfKind } from './kind.ts'
import type { HalfProblem } from './trouble.ts'

/** Changes of the halves of an account besides those that follow from a change of the account. */
export interface HalfChange {
  /** These are reached in another way, such as by another secret. */
  reachedAnew?: readonly HalfKind[]
  problem?: HalfProblem
  /** A login to the servers of these has just succeeded. */
  proven?: readonly HalfKind[]
}

/** The kinds whose problems a change ends: all of them if the status changes. A login that succeeded ends those it was for. */
export function endedProblems(
  before: AccountView,
  { status }: Partial<AccountRow>,
  { reached, proven }: { reached: Iterable<HalfKind>; proven: Iterable<HalfKind> },
): ReadonlySet<HalfKind> {
  if (status !== undefined && status !== before.status) return new Set(ALL_KINDS)
  return new Set(status === undefined ? proven : [...reached, ...proven])
}

/** The account as a change leaves it. */
export function changedView(
  before: AccountView,
  change: Partial<AccountRow>,
  { ended, problem }: { ended: ReadonlySet<HalfKind>; problem: HalfProblem | undefined },
): AccountView {
  const problemOf = (each: HalfKind, known: string | null) =>
    each === problem?.kind ? problem.problem : ended.has(each) ? null : known
  return {
    ...before,
    ...change,
    problem: problemOf('mail', before.problem),
    other_halves:
      before.other_halves?.map(other => ({ ...other, problem: problemOf(other.kind, other.problem) })) ??
      null,
  }
}
