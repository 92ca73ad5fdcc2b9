import { holdAccount, recordEnded } from '../../accounts/halves/progress.ts'
import { type Fence, underFenceOf } from '../../accounts/halves/under-fence.ts'
import type { Db } from '../../database/pool.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'

/** The place that the index has the data of a half from, such as a DAV server. */
export interface HomeStore<Loaded> {
  /** Null if the index has no data of the half yet. */
  find(db: Db, accountId: string): Promise<string | null>
  store(unit: UnitOfWork, accountId: string, home: string | null): Promise<void>
  /** Deletes some of the data and announces that. Returns whether there may be more. */
  deleteSome(unit: UnitOfWork, loaded: Loaded): Promise<boolean>
  /** Forgets how a home was followed once its data is deleted. */
  forget(unit: UnitOfWork, accountId: string): Promise<void>
}

/**
 * Takes the data of a former home out of the index, announces that, and lets the half begin again. The current home is
 * stored.
 * @throws FenceLost
 */
export async function endFormerHome<Loaded>(
  fence: Fence<Loaded>,
  home: string | null,
  { find, store, deleteSome, forget }: HomeStore<Loaded>,
): Promise<void> {
  const { db, owned, kind } = fence
  const known = await find(db, owned.id)
  if (known === home) return
  if (known !== null) while (await underFenceOf(fence, deleteSome));
  await underFenceOf({ ...fence, begin: unit => holdAccount(unit, owned.id) }, async unit => {
    if (known !== null) {
      await forget(unit, owned.id)
      await recordEnded(unit, owned.id, kind)
    }
    await store(unit, owned.id, home)
  })
}
