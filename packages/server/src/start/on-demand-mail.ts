import { accountKeys } from '../features/accounts/accounts/secrets.ts'
import { OnDemandMail } from '../connections/on-demand-mail.ts'
import { findConnector } from '../connections/connector.ts'
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
    findConnector: (account, suspicions) => findConnector(options, account, suspicions),
  })
}
