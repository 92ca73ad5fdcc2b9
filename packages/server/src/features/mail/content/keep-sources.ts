import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { effectiveSettings } from '../../../accounts/settings.ts'
import { findAccountView } from '../../../accounts/store.ts'
import { findStorageRoom } from '../../tenancy/plans/store.ts'
import { type BatchContext, type FetchedSource, storeTogether } from './store-batch.ts'

/** Sources of messages by their lasting ids. */
export type ArrivedSources = ReadonlyMap<string, Buffer>

/**
 * Stores the sources that came with messages, which are indexed by now, if the account keeps all of them and its plan
 * has room. `BodyStoring` fetches the other ones again. Never rejects.
 */
export async function keepSources(
  context: BatchContext,
  { id, tenantId }: { id: string; tenantId: string },
  sources: ArrivedSources,
): Promise<void> {
  try {
    const account = await findAccountView(context.db, tenantId, id)
    if (!account || effectiveSettings(account.tenant_settings, account).bodyStorage !== 'full') return
    const unstored = await listUnstoredOf(context.db, id, [...sources.keys()])
    let room = await findStorageRoom(context.db, tenantId)
    const kept = unstored.flatMap(({ messageId, key }): FetchedSource[] => {
      const content = sources.get(key)
      if (!content || content.length > room) return []
      room -= content.length
      return [{ message: { id: messageId }, content }]
    })
    await storeTogether(context, account, kept)
  } catch (error) {
    context.log.warn({ error, accountId: id }, 'Bodies could not be stored as they arrived')
  }
}

/** Drafts change, so they are not stored. */
async function listUnstoredOf(
  db: Db,
  accountId: string,
  keys: readonly string[],
): Promise<Array<{ messageId: string; key: string }>> {
  const { rows } = await sql<{ messageId: string; key: string }>`
    select id as "messageId", remote_id as key from message
    where account_id = ${accountId} and remote_id = any(${keys}::text[]) and not is_draft
      and not exists (select from message_blob where message_id = message.id)
  `.execute(db)
  return rows
}
