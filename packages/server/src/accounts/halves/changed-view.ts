import type { AccountRow, AccountView } from '../row.ts'
import type { HalfKind } from './kind.ts'
import type { HalfProblem } from './trouble.ts'

/** Changes of the halves of an account besides those that follow from a change of the account. */
export interface HalfChange {
  /** These are reached in another way, such as by another secret. */
  reachedAnew?: readonly HalfKind[]
  problem?: HalfProblem
}

/** The account as a change leaves it. Problems of halves end with the status under which they arose. */
export function changedView(
  before: AccountView,
  change: Partial<AccountRow>,
  { kind, problem }: Partial<HalfProblem> = {},
): AccountView {
  const isOver = change.status !== undefined
  const problemOf = (each: HalfKind, known: string | null) =>
    each === kind ? (problem ?? null) : isOver ? null : known
  return {
    ...before,
    ...change,
    problem: problemOf('mail', before.problem),
    other_halves:
      before.other_halves?.map(other => ({ ...other, problem: problemOf(other.kind, other.problem) })) ??
      null,
  }
}
