import { askForSync } from '../../accounts/ask-for-sync.ts'
import { homeOf } from '../../accounts/halves/home.ts'
import { addHalves } from '../../accounts/halves/rows.ts'
import { reachedHalf, type ReachedAccount } from '../../accounts/reach.ts'
import type { AccountView } from '../../accounts/row.ts'
import { findAccountView, lockAccount } from '../../accounts/store.ts'
import type { RequestContext } from '../../calls/context.ts'
import { type Asked, refuseFailure } from '../../calls/provider-failure.ts'
import { refuse } from '../../calls/refuse.ts'
import type { Connections } from '../../connections/connections.ts'
import { abilitiesOf } from '../../providers/abilities.ts'
import type { ContactsProvider } from '../../providers/contacts.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { requireConnectable } from '../accounts/accounts/access.ts'
import { findHome } from './contacts/home.ts'
import { recordMarks } from './contacts/record-marks.ts'

/** The problem of a half whose login is refused while the account itself is well. */
const LOGIN_REFUSED = 'dav_login_failed'
const REMOVAL_SECONDS = 5

/**
 * The account as its contacts are reached. Refuses if its state does not allow that. An account of an earlier release may
 * have no half of its contacts yet, and gets it.
 */
export async function requireReached(context: RequestContext, account: AccountView): Promise<ReachedAccount> {
  requireConnectable(account)
  await requireSameHome(context, account)
  const half = account.other_halves?.find(({ kind }) => kind === 'contacts')
  if (half?.problem === LOGIN_REFUSED) refuse('account_misconfigured')
  if (!abilitiesOf(account.provider).followed.includes('contacts'))
    refuse('provider_unsupported', undefined, {
      message: 'Contacts of accounts of this provider cannot be reached yet.',
    })
  return reachedHalf(account, 'contacts') ?? (await addHalf(context, account))
}

/** While contacts of a former server leave the index, those of another would leave it as well. */
async function requireSameHome({ db }: RequestContext, account: AccountView): Promise<void> {
  const known = await findHome(db, account.id)
  if (known === null || known === homeOf(account, 'contacts')) return
  refuse('provider_unavailable', undefined, {
    message: 'The contacts of the former server are being removed. Try again in a moment.',
    retryAfterSeconds: REMOVAL_SECONDS,
  })
}

async function addHalf(context: RequestContext, { id }: AccountView): Promise<ReachedAccount> {
  await context.step(async unit => {
    if (!(await lockAccount(unit, id))) refuse('account_not_found')
    await addHalves(unit, [id], 'contacts')
    unit.wake(id)
  })
  const account = (await findAccountView(context.db, context.tenantId, id)) ?? refuse('account_not_found')
  return reachedHalf(account, 'contacts') ?? refuse('account_not_found')
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
    const isUnsure =
      error instanceof ProviderFailure && (error.kind === 'not_found' || !error.isBeforeAcceptance)
    if (isUnsure) await askForLook(context, reached, keys)
    return refuseContactFailure(error, 'change')
  }
}

/** Refuses a request for contacts that failed at the provider. A login of their own is a matter of the setup. */
export function refuseContactFailure(error: unknown, asked: Asked): never {
  if (error instanceof ProviderFailure && error.kind === 'login_failed')
    refuse('account_misconfigured', undefined, { cause: error })
  return refuseFailure(error, asked)
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
