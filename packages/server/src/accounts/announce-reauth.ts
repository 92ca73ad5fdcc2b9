import type { UnitOfWork } from '../events/unit-of-work.ts'
import type { AccountView } from './row.ts'

/** Announces an account that has just been stopped, since it needs a new grant. */
export function announceReauthRequired(
  unit: Pick<UnitOfWork, 'announce'>,
  { id: accountId, email, provider, external_ref: externalRef }: AccountView,
  reason: string,
): void {
  unit.announce({
    type: 'account.reauth_required',
    accountId,
    data: { email, provider, externalRef, reason },
  })
}
