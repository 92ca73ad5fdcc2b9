import { ProviderFailure } from '../../providers/failure.ts'
import type { AccountRow } from '../../accounts/row.ts'
import { askForSync, askWithinChange } from '../../accounts/ask-for-sync.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import type { ChangeUnit, Commits } from '../../calls/context.ts'
import { refuseFailure } from '../../calls/provider-failure.ts'
import { refuse } from '../../calls/refuse.ts'
import { isUnderSuspicion } from './messages/location.ts'
import { recordSuspicion } from './messages/record-suspicion.ts'

/** The columns of an account that its sync is woken by. */
export type SyncedAccount = Pick<AccountRow, 'id' | 'tenant_id'>

/** Makes a change at the provider of an account, and refuses the request if it fails there. */
export async function changeAtProvider<T>(
  context: Pick<Commits, 'step'>,
  account: SyncedAccount,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    return refuseFailed(context, account, error)
  }
}

/** Refuses a change that failed at the provider. If the index may be behind the provider then, the sync is woken. */
export async function refuseFailed(
  context: Pick<Commits, 'step'>,
  account: SyncedAccount,
  error: unknown,
): Promise<never> {
  if (error instanceof ProviderFailure && (error.kind === 'not_found' || !error.isBeforeAcceptance))
    await wakeSync(context, account)
  return refuseFailure(error, 'change')
}

/** Refuses, and wakes the sync, because the provider no longer has the same mail as the index. */
export async function refuseGone(context: Pick<Commits, 'step'>, account: SyncedAccount): Promise<never> {
  await wakeSync(context, account)
  return refuse('provider_not_found')
}

/** Requests a pass of the sync, soon. Does nothing after many requests in a short time, since a pass began lately. */
export async function wakeSync(context: Pick<Commits, 'step'>, account: SyncedAccount): Promise<void> {
  await context.step(async unit => {
    await askForSync(unit.sql, account, { kinds: ['mail'] })
    unit.wake(account.id)
  })
}

/**
 * Notes that the provider has another message under a number of the index, and lets the sync compare all mailboxes of the
 * account. A source that is under suspicion already is about to be compared, which a later suspicion would put off.
 * @returns whether the sync is to be woken after the commit
 */
export async function noteOther(unit: UnitOfWork, account: SyncedAccount, source: string): Promise<boolean> {
  if (await isUnderSuspicion(unit.sql, account.id, source)) return false
  // First, as the sync locks rows: the account, its half, then its cursors.
  await askForSync(unit.sql, account, { kinds: ['mail'], words: ['integrity'] })
  await recordSuspicion(unit, account.id)
  return true
}

/** Requests a pass of the sync after this commit, which may hold a lock on the mail of the account. */
export async function askForPass(unit: ChangeUnit, account: SyncedAccount): Promise<void> {
  await askWithinChange(unit.sql, account, 'mail')
  unit.wake(account.id)
}
