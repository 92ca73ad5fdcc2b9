import { beginLook } from '../../accounts/halves/progress.ts'
import type { HalfKind } from '../../accounts/halves/kind.ts'
import type { LookSession } from './session.ts'

/** After this many looks at an account that others keep changing, missing items are left to a later pass. */
const LOOKS_MAX = 4
const LOST_AT_ONCE = 200

export interface MissingItems<Look> {
  kind: HalfKind
  hasMissing(): Promise<boolean>
  /** Looks at all sources again, and follows those that changed. Null if sources are still to be read. */
  lookAgain(): Promise<{ look: Look; isQuiet: boolean } | null>
  /** Deletes up to `limit` items that were missing before this look. Returns how many; 0: there are no more. */
  deleteLost(lost: { beforeLook: number; limit: number }): Promise<number>
}

/**
 * Deletes items that are gone from where they were. They may have moved to a source that was read before: they are lost
 * once a later look found that nothing has happened anywhere, or have been missing for several looks.
 * @param before the look that found them missing
 * @returns the last look; null if sources are still to be read
 */
export async function settleMissing<Look>(
  { db, owned, progressed }: Pick<LookSession<unknown>, 'db' | 'owned' | 'progressed'>,
  before: Look,
  { kind, hasMissing, lookAgain, deleteLost }: MissingItems<Look>,
): Promise<Look | null> {
  const deleteAllLost = async (beforeLook: number) => {
    while ((await deleteLost({ beforeLook, limit: LOST_AT_ONCE })) > 0) progressed()
  }
  let last = before
  let firstLook: number | null = null
  for (let looks = 0; looks < LOOKS_MAX && (await hasMissing()); looks++) {
    const beforeLook = await beginLook(db, owned, kind)
    firstLook ??= beforeLook
    const again = await lookAgain()
    if (again === null) return null
    last = again.look
    if (again.isQuiet) await deleteAllLost(beforeLook)
  }
  if (firstLook !== null) await deleteAllLost(firstLook)
  return last
}
