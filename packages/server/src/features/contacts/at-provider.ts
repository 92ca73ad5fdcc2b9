import { askForSync } from '../../accounts/ask-for-sync.ts'
import type { ReachedAccount } from '../../accounts/reach.ts'
import type { AccountView } from '../../accounts/row.ts'
import type { RequestContext } from '../../calls/context.ts'
import type { Connections } from '../../connections/connections.ts'
import type { ContactsProvider } from '../../providers/contacts.ts'
import { mayDiffer, refuseHalfFailure, requireReachedHalf } from '../accounts/accounts/reach-half.ts'
import { findHome } from './contacts/home.ts'
import { recordMarks } from './contacts/record-marks.ts'

/** The account as its contacts are reached. Refuses if its state does not allow that. */
export function requireReached(context: RequestContext, account: AccountView): Promise<ReachedAccount> {
  return requireReachedHalf(context, account, { kind: 'contacts', findHome })
}

/** Changes contacts in one call to the provider, which is never repeated blindly. `keys`: those that it changes. */
export async function changeContacts<T>(
  context: RequestContext,
  connections: Connections,
  reached: ReachedAccount,
  { keys, work }: { keys: readonly string[]; work: (provider: ContactsProvider) => Promise<T> },
): Promise<T> {
  try {
    return await connections.use(reached, 'contacts', work, { isRepeatable: false })
  } catch (error) {
    if (mayDiffer(error)) await askForLook(context, reached, keys)
    return refuseHalfFailure(error, 'change')
  }
}

/** Requests a look of the sync, soon, which asks the provider about these contacts. */
export async function askForLook(
  context: Pick<RequestContext, 'step'>,
  { id, tenantId }: ReachedAccount,
  keys: readonly string[],
): Promise<void> {
  await context.step(async unit => {
    await askForSync(unit.sql, { id, tenant_id: tenantId }, { kinds: ['contacts'] })
    await recordMarks(unit, id, keys)
    unit.wake(id)
  })
}
