import type { Db } from '../../../database/pool.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import type { ContentLayout, StoredContent } from '../compose/stored-content.ts'
import { type BoundContent, findContents } from './content.ts'

/** The composed message of an entry; null where its content is gone. */
export async function findStoredContent(
  { db, accountKeys }: { db: Db; accountKeys: AccountKeys },
  account: AccountRow,
  outboxId: string,
): Promise<StoredContent | null> {
  const found = (await findContents(db, [outboxId])).get(outboxId)
  return found ? openContent(accountKeys, account, found) : null
}

/** The composed message. Throws `SealError` after the purge of the account. */
export function openContent(
  accountKeys: AccountKeys,
  account: AccountRow,
  content: BoundContent,
): StoredContent {
  const sealingOf = accountKeys.outboxSealing(account)
  return {
    // Only `writeContent` writes it.
    layout: content.layout as ContentLayout,
    byteLength: content.byteLength,
    open: () => content.open(sealingOf),
  }
}
