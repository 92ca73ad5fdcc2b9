import { sql } from 'kysely'
import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { enqueue, type JobKind } from '../../../jobs/enqueue.ts'
import { type JobHandler, jobHandler } from '../../../jobs/job-worker.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import { findAccountView } from '../../../accounts/store.ts'
import { listMessageLocations } from '../../mail/messages/location.ts'
import { lockMailAccount } from '../../mail/messages/record-account.ts'
import { recordRemovals } from '../../mail/messages/record-changes.ts'
import { type FiledCopy, recordFilesCopies } from './record-task.ts'
import { inBatches } from './sweep.ts'

/** A server that files a copy by itself after ours was filed: not later than this, or both stay. */
const LATE_COPY_HOURS_MAX = 6
const BATCH_ROWS = 100

interface DoubleCopy {
  accountId: string
  outboxId: string
  internetMessageId: string
  filed: FiledCopy
}

const settleCopiesJob: JobKind<DoubleCopy> = {
  name: 'settle_sent_copies',
  parse(stored) {
    const { accountId, outboxId, internetMessageId, filed } = Object(stored) as Partial<DoubleCopy>
    if (!accountId || !outboxId || !internetMessageId || !filed) throw new Error('The job names no copy')
    return { accountId, outboxId, internetMessageId, filed }
  },
}

/** Finds sends of which the mailbox of sent mail has a second copy since ours was filed, and has them settled. */
export async function findDoubleCopies(db: Db, signal: AbortSignal): Promise<void> {
  await inBatches(
    db,
    signal,
    sql`
      select outbox.id, outbox.tenant_id, outbox.account_id from outbox
      where outbox.filed_copy is not null
        and outbox.copy_filed_at > clock_timestamp() - make_interval(hours => ${LATE_COPY_HOURS_MAX})
        and 1 < (
          select count(*) from message
          where message.outbox_id = outbox.id and message.account_id = outbox.account_id and exists (
            select from mailbox where mailbox.id = any(message.mailbox_ids) and mailbox.role = 'sent')
        )
      limit ${BATCH_ROWS}`,
    async (unit, ids) => {
      const { rows } = await sql<DoubleCopy>`
        with doubled as (
          select id, filed_copy from outbox where id = any(${ids}::uuid[]) and filed_copy is not null for update
        )
        update outbox set filed_copy = null from doubled where outbox.id = doubled.id
        returning outbox.account_id as "accountId", outbox.id as "outboxId",
          internet_message_id as "internetMessageId", doubled.filed_copy as filed
      `.execute(unit.sql)
      await enqueue(unit, settleCopiesJob, rows)
    },
  )
}

interface SettleServices {
  db: Db
  connections: Connections
  wakeSync(accountId: string): void
}

/** Removes the copy that we filed, if the server has filed another one by itself. */
export function settleCopiesHandler({ db, connections, wakeSync }: SettleServices): JobHandler {
  return jobHandler(settleCopiesJob, async (double, { tenantId, signal }) => {
    const { accountId, outboxId, internetMessageId, filed } = double
    const account = await findAccountView(db, tenantId, accountId)
    if (!account) return
    if (account.status !== 'active') throw new Error('The account cannot be used now')
    const isRemoved = await connections.use(
      reachedAs(account),
      'changing',
      async provider => {
        const { mailbox } = await provider.requireMailbox('sent')
        const copies = await provider.find(mailbox.key, internetMessageId)
        const ours = copies.find(
          ({ location: { source, key } }) => source === filed.source && key === filed.key,
        )
        // A copy with a flag or category is kept, and so is the only one.
        if (!ours || copies.length < 2 || ours.flags.isFlagged || ours.flags.categories.length > 0)
          return false
        // Whichever message has this key now, it was just found to be a copy, and another one stays.
        const { source, key, firstCursor: cursor } = ours.location
        for await (const _ of provider.remove({ source, cursor, keys: [key] }));
        return true
      },
      { isRepeatable: true, signal },
    )
    await inTransaction(db, tenantId, async unit => {
      await recordFilesCopies(unit, accountId)
      if (!isRemoved) return
      const mailAccount = await lockMailAccount(unit, accountId)
      const { rows } = await sql<{ id: string }>`
        select id from message where account_id = ${accountId} and outbox_id = ${outboxId}
      `.execute(unit.sql)
      const locations = await listMessageLocations(
        unit.sql,
        accountId,
        rows.map(({ id }) => id),
      )
      const removals = locations
        .filter(({ source, key }) => source === filed.source && key === filed.key)
        .map(({ messageId }) => ({ messageId, from: filed }))
      await recordRemovals(unit, mailAccount, removals)
    })
    wakeSync(accountId)
  })
}
