import type { UnitOfWork } from '../events/unit-of-work.ts'
import type { AccountView } from './row.ts'

/** Announces an account that has just been given access to its mailbox, for the first time or again. */
export function announceConnected(
  unit: Pick<UnitOfWork, 'announce'>,
  { id, email, provider, cloud, external_ref: externalRef }: AccountView,
  { reauthorized }: { reauthorized: boolean },
): void {
  unit.announce({
    type: 'account.connected',
    accountId: id,
    data: { email, provider, cloud, externalRef, reauthorized },
  })
}
