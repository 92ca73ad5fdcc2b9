import { holdAccount, recordInitialized } from '../../accounts/halves/progress.ts'
import { type Fence, underFenceOf } from '../../accounts/halves/under-fence.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'

/**
 * Records that the first sync of a half is complete: from here on changes are announced. Does nothing if it was recorded
 * before.
 * @param announce announces the end of the first sync
 * @throws FenceLost
 */
export async function completeFirstSync(
  fence: Fence<{ account: { isInitialized: boolean } }>,
  announce: (unit: UnitOfWork) => Promise<void>,
): Promise<void> {
  const { owned, kind } = fence
  await underFenceOf(
    { ...fence, begin: unit => holdAccount(unit, owned.id) },
    async (unit, { account: { isInitialized } }) => {
      if (isInitialized) return
      await recordInitialized(unit, owned.id, kind)
      await announce(unit)
    },
  )
}
