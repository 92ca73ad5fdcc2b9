import { type RawBuilder, sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountView } from '../../accounts/accounts/account.ts'
import { effectiveSettings } from '../../accounts/accounts/rules.ts'
import { insertingSends } from '../../mail/messages/record-sends.ts'
import { refuse } from '../../refuse.ts'
import { envelopeRecipients } from '../compose/rules.ts'
import type { NewSend } from './accept.ts'
import { requireUnsuppressed } from '../suppressions/access.ts'
import { suppressedAddresses } from '../suppressions/store.ts'
import { recordTracked } from '../tracking/record-tracked.ts'
import { entryColumns, type EntryRow } from './present.ts'
import { bringForward, lookedAt } from './record.ts'
import { contentRowColumns, contentRows, type WrittenContent } from './write-content.ts'

/**
 * The worker is woken for what is due within this time. It looks once a second, and each look sees when the next entry
 * is due, so it needs no wake for others.
 */
const WAKE_SECONDS = 3

/** A message whose content is written. */
export interface WrittenSend extends Omit<NewSend, 'content'> {
  snippet: string
  hasAttachments: boolean
  /** Bytes of the whole message. */
  size: number
  content: WrittenContent
}

/** What holds for the account when its sends are inserted. */
interface Terms {
  accountStatus: AccountView['status']
  /** The largest message that the account's server takes, as it said last; null where it does not say. */
  bytesMax: number | null
  isPastDue: boolean
  /** Of the tenant's plan; null where it does not limit sends. */
  sendsPerDay: number | null
  /** Contents that were bound: one is missing where it was swept. */
  bound: number
  firstDueAt: Date
  /** Whether the account is looked at by that time. */
  isLookedAt: boolean
  /** Whether a look of the worker that nobody wakes for it could come too late. */
  isSoon: boolean
}

export type SendTerms = Pick<Terms, 'sendsPerDay' | 'isSoon' | 'firstDueAt'>

/** Inserts one send, as `insertSends`, and refuses it if a recipient is suppressed. */
export async function insertSend(
  unit: UnitOfWork,
  account: AccountView,
  send: WrittenSend,
): Promise<{ row: EntryRow; terms: SendTerms }> {
  const recipients = envelopeRecipients(send.to, send.cc, send.bcc)
  const { rows } = await sql<EntryRow & Terms & { suppressed: string[] }>`
    ${insertingSendsOf(unit, account, [send], 0)}
    select ${entryColumns}, ${termColumns},
      array(${suppressedAddresses(unit.tenantId, send.listId, recipients)}) as suppressed
    from sender, first, added as outbox, (select null::uuid as id, null::text as thread_id) as copy
  `.execute(unit.sql)
  const row = rows[0] ?? refuse('account_not_found')
  requireUnsuppressed(new Set(row.suppressed))
  await applyTerms(unit, account, [send], row)
  return { row, terms: row }
}

/**
 * Writes entries, their contents and their Message-IDs by one statement, and refuses what may not be sent. The account is
 * kept from being deleted until the commit: what is deleted accepts nothing more, and what was accepted before is
 * cancelled.
 * @param intervalSeconds that lie between two of them at least, in the order in which they are due
 */
export async function insertSends(
  unit: UnitOfWork,
  account: AccountView,
  sends: readonly WrittenSend[],
  intervalSeconds: number,
): Promise<SendTerms> {
  const { rows } = await sql<Terms>`
    ${insertingSendsOf(unit, account, sends, intervalSeconds)}
    select ${termColumns} from sender, first
  `.execute(unit.sql)
  const terms = rows[0] ?? refuse('account_not_found')
  await applyTerms(unit, account, sends, terms)
  return terms
}

async function applyTerms(
  unit: UnitOfWork,
  account: AccountView,
  sends: readonly WrittenSend[],
  terms: Terms,
): Promise<void> {
  requireConnectable({ status: terms.accountStatus })
  if (terms.isPastDue) refuse('billing_past_due')
  const { bytesMax } = terms
  if (bytesMax !== null && sends.some(({ size }) => size > bytesMax)) refuse('attachments_too_large')
  if (terms.bound < sends.length) refuse('overloaded')
  await recordTracked(unit, account.id, sends)
  if (!terms.isLookedAt) await bringForward(unit, account.id, terms.firstDueAt)
}

const termColumns = sql`
  sender.status as "accountStatus", sender.is_past_due as "isPastDue", sender.sends_per_day as "sendsPerDay",
  (select count(*)::int from bound) as bound, first.due_at as "firstDueAt",
  exists (${lookedAt(sql`first`)}) as "isLookedAt",
  first.due_at < clock_timestamp() + make_interval(secs => ${WAKE_SECONDS}) as "isSoon",
  (select message_bytes_max::float8 from sending_account as held where held.account_id = sender.id) as "bytesMax"`

/** Common table expressions: `sender` is the account, `added` are the entries, `first` is the one that is due first. */
function insertingSendsOf(
  unit: UnitOfWork,
  account: AccountView,
  sends: readonly WrittenSend[],
  intervalSeconds: number,
): RawBuilder<unknown> {
  const { undoSendSeconds } = effectiveSettings(account.tenant_settings, account)
  const { rows, blob } = sendRows(sends, undoSendSeconds)
  return sql`
    with sender as (
      select account.id, account.status, tenant.past_due_at is not null as is_past_due, plan.sends_per_day
      from account join tenant on tenant.id = account.tenant_id left join plan on plan.id = tenant.plan_id
      where account.id = ${account.id} and account.deleted_at is null for key share of account
    ), asked as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}) as asked (${sendRowColumns}, ${contentRowColumns})
    ), planned as (
      select id, now, make_interval(secs => place * ${intervalSeconds}::int)
        + max(asked_at - make_interval(secs => place * ${intervalSeconds}::int)) over (order by place) as due_at
      from (
        select id, now, asked_at, row_number() over (order by asked_at, id) as place from (
          select id, now, greatest(coalesce(send_at, '-infinity'), now + make_interval(secs => undo_seconds)) as asked_at
          from asked, (select clock_timestamp() as now) as moment
        ) as timed
      ) as placed
    ), added as (
      insert into outbox (id, tenant_id, account_id, "from", "to", cc, bcc, reply_to, subject, snippet, has_attachments,
        size, importance, in_reply_to, forward_of, draft_id, template_id, list_id, mail_merge_id, track_opens,
        track_clicks, reference, thread_id, internet_message_id, waiting, send_at, due_at, is_paced, created_at)
      select asked.id, ${unit.tenantId}, sender.id, asked."from", asked."to", asked.cc, asked.bcc, asked.reply_to,
        asked.subject, asked.snippet, asked.has_attachments, asked.size, asked.importance, asked.in_reply_to,
        asked.forward_of, asked.draft_id, asked.template_id, asked.list_id, asked.mail_merge_id, asked.track_opens,
        asked.track_clicks, asked.reference, asked.thread_id, asked.internet_message_id, asked.waiting, planned.due_at,
        planned.due_at, ${intervalSeconds}::int > 0, planned.now
      from sender, asked join planned on planned.id = asked.id
      returning *
    ), tail as (
      select id from outbox_content where id in (select tail_id from asked) for key share
    ), kept as (
      select content_id, asked.id, layout, bytes, tail_id, piece_at, piece_bytes from asked join added on added.id = asked.id
      where tail_id is null or tail_id in (select id from tail)
    ), inserted as (
      insert into outbox_content (id, account_id, outbox_id, layout, bytes, tail_id)
      select content_id, ${account.id}, id, layout, bytes, tail_id from kept where piece_bytes is not null
      returning id
    ), piece as (
      insert into outbox_piece (content_id, number, sealed)
      select content_id, 0, substring(${blob}::bytea from piece_at for piece_bytes) from kept
      where piece_bytes is not null
    ), found as (
      update outbox_content set outbox_id = kept.id, bytes = kept.bytes from kept
      where kept.piece_bytes is null and outbox_content.id = kept.content_id and outbox_content.outbox_id is null
      returning outbox_content.id
    ), bound as (
      select id from inserted union all select id from found
    ), sent as (${insertingSends(sql`added`)}),
    first as (
      select account_id, min(due_at) as due_at from added group by account_id
    )`
}

const sendRowColumns = sql`
  id uuid, "from" jsonb, "to" jsonb, cc jsonb, bcc jsonb, reply_to jsonb, subject text, snippet text,
  has_attachments boolean, size bigint, importance text, in_reply_to uuid, forward_of uuid, draft_id uuid,
  template_id uuid, list_id text, mail_merge_id uuid, track_opens boolean, track_clicks boolean, reference text,
  thread_id text, internet_message_id text, waiting text[], send_at timestamptz, undo_seconds integer`

/** @param undoSendSeconds where a send does not say */
function sendRows(sends: readonly WrittenSend[], undoSendSeconds: number) {
  const { rows, blob } = contentRows(sends.map(({ content }) => content))
  return {
    blob,
    rows: sends.map((send, nth) => ({
      id: send.id,
      from: send.from,
      to: send.to,
      cc: send.cc,
      bcc: send.bcc,
      reply_to: send.replyTo,
      subject: send.subject,
      snippet: send.snippet,
      has_attachments: send.hasAttachments,
      size: send.size,
      importance: send.importance,
      in_reply_to: send.inReplyTo,
      forward_of: send.forwardOf,
      draft_id: send.draftId,
      template_id: send.templateId,
      list_id: send.listId,
      mail_merge_id: send.mailMergeId,
      track_opens: send.tracking.opens,
      track_clicks: send.tracking.clicks,
      reference: send.options.reference ?? null,
      thread_id: send.threadId,
      internet_message_id: send.internetMessageId,
      waiting: envelopeRecipients(send.to, send.cc, send.bcc),
      send_at: send.options.sendAt ?? null,
      undo_seconds: send.options.undoSendSeconds ?? undoSendSeconds,
      ...rows[nth],
    })),
  }
}
