import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'

const BATCH_ROWS = 2000

/** Deletes the links of threads that have no message any more, account by account. */
export async function sweepThreadLinks(db: Db, signal: AbortSignal): Promise<void> {
  let afterAccount: string | null = '00000000-0000-0000-0000-000000000000'
  while (afterAccount !== null && !signal.aborted) {
    const account: { id: string } | undefined = await db
      .selectFrom('account')
      .select('id')
      .where('id', '>', afterAccount)
      .where('deleted_at', 'is', null)
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
    afterAccount = account?.id ?? null
    if (account) await sweepAccount(db, account.id, signal)
  }
}

async function sweepAccount(db: Db, accountId: string, signal: AbortSignal): Promise<void> {
  let afterReference: string | null = '00000000-0000-0000-0000-000000000000'
  while (afterReference !== null && !signal.aborted) {
    const from: string = afterReference
    afterReference = await db.transaction().execute(async tx => {
      // A sync holds this half while it threads: it must not rely on a link that this batch deletes.
      await sql`
        select from account_half where account_id = ${accountId} and kind = 'mail' for no key update
      `.execute(tx)
      const { rows } = await sql<{ last: string | null }>`
        with page as (
          select reference, thread_id from thread_link where account_id = ${accountId} and reference > ${from}
          order by reference limit ${BATCH_ROWS}
        ), swept as (
          delete from thread_link using page
          where thread_link.account_id = ${accountId} and thread_link.reference = page.reference
            and not exists (
              select from message where account_id = ${accountId} and thread_id = page.thread_id::text)
        )
        select (array_agg(reference order by reference desc))[1] as last from page
      `.execute(tx)
      return rows[0]?.last ?? null
    })
  }
}
