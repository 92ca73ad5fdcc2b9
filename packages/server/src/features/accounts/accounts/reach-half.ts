import { homeOf } from '../../../accounts/halves/home.ts'
import type { OtherKind } from '../../../accounts/halves/kind.ts'
import { addHalves } from '../../../accounts/halves/rows.ts'
import { reachedHalf, type ReachedAccount } from '../../../accounts/reach.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { findAccountView, lockAccount } from '../../../accounts/store.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { type Asked, refuseFailure } from '../../../calls/provider-failure.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Db } from '../../../database/pool.ts'
import { abilitiesOf } from '../../../providers/abilities.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { requireConnectable } from './access.ts'

/** The problem of a half whose login is refused while the account itself is well. */
const LOGIN_REFUSED = 'dav_login_failed'
const REMOVAL_SECONDS = 5

/** A half as operations reach its data at the provider. */
export interface ReachedKind {
  kind: OtherKind
  /** The place that the index has the data from; null if it has none yet. */
  findHome(db: Db, accountId: string): Promise<string | null>
}

/**
 * The account as one kind of its data is reached. Refuses if its state does not allow that. An account of an earlier release
 * may have no half of this kind yet, and gets it.
 */
export async function requireReachedHalf(
  context: RequestContext,
  account: AccountView,
  { kind, findHome }: ReachedKind,
): Promise<ReachedAccount> {
  requireConnectable(account)
  const known = await findHome(context.db, account.id)
  // While the data of a former server leaves the index, that of another would leave it as well.
  if (known !== null && known !== homeOf(account, kind))
    refuse('provider_unavailable', undefined, {
      message: `The ${NOUNS[kind]} of the former server are being removed. Try again in a moment.`,
      retryAfterSeconds: REMOVAL_SECONDS,
    })
  const half = account.other_halves?.find(other => other.kind === kind)
  if (half?.problem === LOGIN_REFUSED) refuse('account_misconfigured')
  if (!abilitiesOf(account.provider).followed.includes(kind))
    refuse('provider_unsupported', undefined, {
      message: `The ${NOUNS[kind]} of accounts of this provider cannot be reached yet.`,
    })
  return reachedHalf(account, kind) ?? (await addHalf(context, account, kind))
}

const NOUNS: Readonly<Record<OtherKind, string>> = { calendar: 'calendars', contacts: 'contacts' }

async function addHalf(
  context: RequestContext,
  { id }: AccountView,
  kind: OtherKind,
): Promise<ReachedAccount> {
  await context.step(async unit => {
    if (!(await lockAccount(unit, id))) refuse('account_not_found')
    await addHalves(unit, [id], kind)
    unit.wake(id)
  })
  const account = (await findAccountView(context.db, context.tenantId, id)) ?? refuse('account_not_found')
  return reachedHalf(account, kind) ?? refuse('account_not_found')
}

/** Whether a write that failed may have had an effect, or shows that the index is out of date. */
export function mayDiffer(error: unknown): boolean {
  return error instanceof ProviderFailure && (error.kind === 'not_found' || !error.isBeforeAcceptance)
}

/** Refuses a request that failed at the provider. A login of the half's own is a matter of the setup. */
export function refuseHalfFailure(error: unknown, asked: Asked): never {
  if (error instanceof ProviderFailure && error.kind === 'login_failed')
    refuse('account_misconfigured', undefined, { cause: error })
  return refuseFailure(error, asked)
}
