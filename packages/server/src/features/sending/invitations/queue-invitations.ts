import { type RawBuilder, sql } from 'kysely'
import type { AccountView } from '../../../accounts/row.ts'
import type { ChangeUnit } from '../../../calls/context.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { recordQueued } from '../accepting/limits.ts'
import { contentRowColumns, contentRows } from '../accepting/write-content.ts'
import { envelopeRecipients } from '../compose/rules.ts'
import { removeContent } from '../outbox/content.ts'
import { bringingForward } from '../outbox/record.ts'
import type { WrittenInvitation } from './write-invitations.ts'

/**
 * Queues mails in the caller's unit, so that they are committed with the event that they are about. A mail that was queued
 * before, under the same id, is left as it is. They count for the plan of the tenant, even if it has no room for them by
 * now: the event is at its provider already, and `requireMayInvite` was asked. Nothing is queued for a deleted account.
 * Call it last: it locks the account's place among those that send.
 */
export async function queueInvitations(
  unit: UnitOfWork | ChangeUnit,
  account: Pick<AccountView, 'id'>,
  written: readonly WrittenInvitation[],
): Promise<void> {
  if (written.length === 0) return
  const { rows } = await addingInvitations(unit.tenantId, account.id, written).execute(unit.sql)
  const queued = new Set(rows.map(({ id }) => id))
  const left = written.filter(({ id, content }) => !queued.has(id) && content.piece === null)
  if (left.length > 0)
    await removeContent(
      unit,
      left.map(({ content }) => content.id),
    )
  if (queued.size === 0) return
  unit.leave(recordQueued, { tenantId: unit.tenantId, count: queued.size })
  // Without a request, the next look of the worker finds them within a second.
  if ('wake' in unit) unit.wake(account.id, 'waxwing_outbox')
}

/** The account is kept from being deleted until the commit. Rows are the mails that were not queued before. */
function addingInvitations(
  tenantId: string,
  accountId: string,
  written: readonly WrittenInvitation[],
): RawBuilder<{ id: string }> {
  const { rows, blob } = contentRows(written.map(({ content }) => content))
  const asked = written.map(({ id, eventId, from, to, size, internetMessageId }, nth) => ({
    id,
    event_id: eventId,
    from,
    to,
    size,
    internet_message_id: internetMessageId,
    waiting: envelopeRecipients(to),
    ...rows[nth],
  }))
  return sql<{ id: string }>`
    with asked as materialized (
      select * from json_to_recordset(${JSON.stringify(asked)}) as asked (
        id uuid, event_id uuid, "from" jsonb, "to" jsonb, size bigint, internet_message_id text, waiting text[],
        ${contentRowColumns})
    ), sender as materialized (
      select id from account where id = ${accountId} and tenant_id = ${tenantId} and deleted_at is null
      for key share of account
    ), added as (
      insert into outbox (id, tenant_id, account_id, origin, event_id, "from", "to", cc, bcc, reply_to, subject, snippet,
        has_attachments, size, internet_message_id, waiting, send_at, is_scheduled, due_at)
      select asked.id, ${tenantId}, sender.id, 'invitation', event_id, "from", "to", '[]', '[]', '[]', null, '',
        true, size, internet_message_id, waiting, now, false, now
      from asked, sender, (select clock_timestamp() as now) as moment
      order by asked.id
      on conflict (id) do nothing
      returning id, account_id, due_at
    ), kept as (
      select asked.*, added.account_id from asked join added using (id)
    ), inserted as (
      insert into outbox_content (id, account_id, outbox_id, layout, bytes)
      select content_id, account_id, id, layout, bytes from kept where piece_bytes is not null
    ), piece as (
      insert into outbox_piece (content_id, number, sealed)
      select content_id, 0, substring(${blob}::bytea from piece_at for piece_bytes) from kept
      where piece_bytes is not null
    ), found as (
      update outbox_content set outbox_id = kept.id, bytes = kept.bytes from kept
      where kept.piece_bytes is null and outbox_content.id = kept.content_id and outbox_content.outbox_id is null
    ), forwarded as (${bringingForward(tenantId, sql`added`)})
    select id from added`
}
