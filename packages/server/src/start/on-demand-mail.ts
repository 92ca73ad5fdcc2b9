import { accountKeys } from '../features/accounts/accounts/secrets.ts'
import { ProviderFailure } from '../providers/failure.ts'
import { OnDemandMail } from '../connections/on-demand-mail.ts'
import { openDoor } from '../connections/open-mail.ts'
import { FenceLost } from '../sync/ownership.ts'
import type { RoleOptions, Shared } from './roles.ts'

/** What reads messages for callers and for the backfill of stored bodies. */
export function openOnDemandMail(
  { config, installation, pace }: RoleOptions,
  { guard, budget, authorities }: Pick<Shared, 'guard' | 'budget' | 'authorities'>,
): OnDemandMail {
  const options = {
    db: installation.database.db,
    accountKeys: accountKeys(installation.keyRing),
    guard,
    allowPlaintext: config.allowPlaintext,
    authorities,
    ...pace,
  }
  return new OnDemandMail({
    budget,
    openDoor: (account, suspicions) =>
      openDoor(options, account, suspicions).catch((error: unknown) => {
        if (error instanceof FenceLost) throw new ProviderFailure('not_found', 'The account was deleted.')
        throw error
      }),
  })
}
