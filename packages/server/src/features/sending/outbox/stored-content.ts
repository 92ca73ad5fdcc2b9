import type { Db } from '../../../database/pool.ts'
import type { AccountRow } from '../../accounts/accounts/account.ts'
import type { AccountKeys } from '../../accounts/accounts/secrets.ts'
import type { ContentLayout, StoredContent } from '../compose/stored-content.ts'
import { findContent } from './content.ts'

/** The composed message of an entry; null where its content is gone. */
export async function openContent(
  { db, accountKeys }: { db: Db; accountKeys: AccountKeys },
  account: AccountRow,
  outboxId: string,
): Promise<StoredContent | null> {
  const found = await findContent(db, outboxId)
  if (!found) return null
  const sealingOf = accountKeys.outboxSealing(account)
  return {
    // Only `writeContent` writes it.
    layout: found.layout as ContentLayout,
    byteLength: found.byteLength,
    open: () => found.open(sealingOf),
  }
}
