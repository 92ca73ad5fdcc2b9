import { findAccount } from '../../../accounts/store.ts'
import type { FlowParts } from './flow-parts.ts'
import type { SessionRow } from './store.ts'

/** The address of the account that signs in again; null in a new flow, and if the account is gone. */
export async function findReauthEmail(
  { db }: Pick<FlowParts, 'db'>,
  { isReconnect, accountId, tenantId }: SessionRow,
): Promise<string | null> {
  if (!isReconnect || accountId === null) return null
  return (await findAccount(db, tenantId, accountId))?.email ?? null
}
