import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { GrantedWatch } from '../../../providers/granted-watch.ts'

/** Keeps a watch that Gmail granted, or forgets the one that was ended. Of a deleted account nothing is kept. */
export async function recordWatch(db: Db, accountId: string, watch: GrantedWatch | null): Promise<void> {
  if (!watch) {
    await sql`delete from gmail_watch where account_id = ${accountId}`.execute(db)
    return
  }
  const { topic, expiresAt, renewAt } = watch
  await sql`
    insert into gmail_watch (account_id, topic, expires_at, renew_at)
    select id, ${topic}, ${expiresAt}, ${renewAt} from account
    where id = ${accountId} and deleted_at is null for key share
    on conflict (account_id) do update
      set topic = excluded.topic, begun_at = excluded.begun_at, expires_at = excluded.expires_at, renew_at = excluded.renew_at
  `.execute(db)
}
