import { holdingOwned } from '../../../accounts/halves/lock.ts'
import { FenceLost } from '../../../accounts/halves/ownership.ts'
import { holdAccount, recordInitialized } from '../../../accounts/halves/progress.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { loadLockedContacts } from '../contacts/record-account.ts'
import { countContents } from '../folders/store.ts'
import type { Session } from './session.ts'

/** The first sync is complete: from here on changes are announced. */
export async function completeFirstSync(session: Session): Promise<void> {
  const { db, owned } = session
  await inTransaction(db, owned.tenantId, async unit => {
    await holdAccount(unit, owned.id)
    const loaded = await loadLockedContacts(unit, owned.id, holdingOwned(owned, 'contacts'), [])
    if (!loaded) throw new FenceLost(owned.id)
    if (loaded.account.isInitialized) return
    await recordInitialized(unit, owned.id, 'contacts')
    const data = await countContents(unit.sql, owned.id)
    unit.announce({ type: 'contacts.initialized', accountId: owned.id, data })
  })
  session.isInitialized = true
}
