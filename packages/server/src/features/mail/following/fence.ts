import type { RawBuilder } from 'kysely'
import { holdingOwned } from '../../../accounts/halves/lock.ts'
import { FenceLost, type OwnedAccount } from '../../../accounts/halves/ownership.ts'
import type { Rows } from '../../../database/in-one-flight.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { loadLockedMailAccount } from '../messages/record-account.ts'
import type { MailAccount } from '../messages/rules.ts'

/**
 * Checks within the transaction that the mail of the account is still owned, and keeps it so until the commit: a
 * process that would take the account over waits for this transaction. A process that slept through its lease cannot
 * commit.
 * @param reading statements that are sent with it, and read under its lock
 * @throws FenceLost
 */
export async function fenceAccount<const Reading extends ReadonlyArray<RawBuilder<unknown>>>(
  unit: UnitOfWork,
  owned: OwnedAccount,
  reading: Reading,
): Promise<{ account: MailAccount; rows: Rows<Reading> }> {
  const loaded = await loadLockedMailAccount(unit, owned.id, holdingOwned(owned, 'mail'), reading)
  if (!loaded) throw new FenceLost(owned.id)
  return loaded
}
