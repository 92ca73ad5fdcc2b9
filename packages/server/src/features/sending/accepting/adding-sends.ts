import type { AccountSend } from './new-send.ts'
import { type RawBuilder, sql } from 'kysely'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { effectiveSettings } from '../../../accounts/settings.ts'
import { insertingSends } from '../../mail/messages/record-sends.ts'
import { envelopeRecipients } from '../compose/rules.ts'
import { suppressedAddresses } from '../suppressions/store.ts'
import { bringingForward, lookedAt } from '../outbox/record.ts'
import { contentRowColumns, contentRows } from './write-content.ts'
import { type WrittenContent } from './written-content.ts'

export interface Adding {
  tenantId: string
  sends: readonly AccountSend[]
  /** Seconds between two sends at least, in the order in which they are due. */
  intervalSeconds: number
  /** Adds only sends that certainly may be sent, and waits for no lock of an account. */
  isSure: boolean
  /** The time at which the sends are accepted; by default the database's own. */
  now?: Date
}

/**
 * Common table expressions that write entries, their contents and their Message-IDs. `sender` are the accounts, which
 * are kept from being deleted until the commit: a deleted account accepts nothing more, and its accepted sends are
 * cancelled. `added` are the entries, `bound` their contents, and `first` is the time of the first entry of each
 * account, which is looked at by then.
 */
export function addingSends(adding: Adding): RawBuilder<unknown> {
  const { tenantId, sends, intervalSeconds } = adding
  const { rows, blob } = sendRows(sends)
  return sql`
    with asked as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}) as asked (${sendRowColumns}, ${contentRowColumns})
    ), sender as materialized (${senders(adding)}),
    accepted as materialized (${acceptedSends(adding)}),
    added as (
      insert into outbox (id, tenant_id, account_id, "from", "to", cc, bcc, reply_to, subject, snippet, has_attachments,
        size, importance, in_reply_to, forward_of, draft_id, draft_version, template_id, list_id, mail_merge_id, track_opens,
        track_clicks, reference, thread_id, internet_message_id, waiting, send_at, is_scheduled, due_at, is_paced, created_at,
        updated_at)
      select id, ${tenantId}, account_id, "from", "to", cc, bcc, reply_to, subject, snippet, has_attachments,
        size, importance, in_reply_to, forward_of, draft_id, draft_version, template_id, list_id, mail_merge_id, track_opens,
        track_clicks, reference, thread_id, internet_message_id, waiting, due_at, send_at is not null, due_at,
        ${intervalSeconds}::int > 0, now, now
      from accepted
      returning id, account_id, internet_message_id, reference, list_id, due_at, created_at, updated_at
    ),
    ${sends.every(({ send: { content } }) => isWhole(content)) ? bindingPieces(blob) : bindingContents(blob)},
    sent as (${insertingSends(sql`added`)}),
    first as materialized (
      select earliest.*, exists (${lookedAt(sql`earliest`)}) as is_looked_at
      from (select account_id, min(due_at) as due_at from added group by account_id) as earliest
    ),
    forwarded as (${bringingForward(tenantId, sql`first where not is_looked_at`)})`
}

/** Rows of accounts are locked in the order of their ids, so that no two statements wait for each other. */
function senders({ tenantId, sends, isSure }: Adding): RawBuilder<unknown> {
  const ids = [...new Set(sends.map(({ account: { id } }) => id))]
  return sql`
    select account.id, account.status, tenant.past_due_at is not null as is_past_due, plan.sends_per_day
    from account join tenant on tenant.id = account.tenant_id left join plan on plan.id = tenant.plan_id
    where account.id = any(${ids}::uuid[]) and account.tenant_id = ${tenantId} and account.deleted_at is null
    ${
      isSure
        ? sql`and account.status = 'active' and tenant.past_due_at is null order by account.id
          for key share of account skip locked`
        : sql`order by account.id for key share of account`
    }`
}

function acceptedSends({ tenantId, intervalSeconds, isSure, now }: Adding): RawBuilder<unknown> {
  const timed = sql`
    select asked.*, now, greatest(coalesce(send_at, '-infinity'), now + make_interval(secs => undo_seconds)) as asked_at
    from asked join sender on sender.id = asked.account_id, (
      select ${now ? sql`${now}::timestamptz` : sql`date_trunc('milliseconds', clock_timestamp())`} as now) as moment`
  if (isSure)
    return sql`
      select timed.*, asked_at as due_at from (${timed}) as timed
      left join sending_account as held on held.account_id = timed.account_id
      where (held.message_bytes_max is null or timed.size <= held.message_bytes_max)
        and not exists (
          ${suppressedAddresses(tenantId, { listId: sql`timed.list_id`, compared: sql`timed.compared` })})`
  if (intervalSeconds === 0) return sql`select timed.*, asked_at as due_at from (${timed}) as timed`
  return sql`
    select placed.*, make_interval(secs => place * ${intervalSeconds}::int)
      + max(asked_at - make_interval(secs => place * ${intervalSeconds}::int)) over (order by place) as due_at
    from (select timed.*, row_number() over (order by asked_at, id) as place from (${timed}) as timed) as placed`
}

/** Whether the content waits in memory, all of it. */
function isWhole({ piece, tail }: WrittenContent): boolean {
  return piece !== null && tail === null
}

function bindingPieces(blob: Buffer): RawBuilder<unknown> {
  return sql`
    bound as (
      insert into outbox_content (id, account_id, outbox_id, layout, bytes)
      select content_id, account_id, id, layout, bytes from accepted returning id
    ), piece as (
      insert into outbox_piece (content_id, number, sealed)
      select content_id, 0, substring(${blob}::bytea from piece_at for piece_bytes) from accepted
    )`
}

function bindingContents(blob: Buffer): RawBuilder<unknown> {
  return sql`
    tail as (
      select id from outbox_content where id in (select tail_id from accepted) for key share
    ), kept as (
      select content_id, account_id, id, layout, bytes, tail_id, piece_at, piece_bytes from accepted
      where tail_id is null or tail_id in (select id from tail)
    ), inserted as (
      insert into outbox_content (id, account_id, outbox_id, layout, bytes, tail_id)
      select content_id, account_id, id, layout, bytes, tail_id from kept where piece_bytes is not null
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
    )`
}

const sendRowColumns = sql`
  id uuid, account_id uuid, "from" jsonb, "to" jsonb, cc jsonb, bcc jsonb, reply_to jsonb, subject text, snippet text,
  has_attachments boolean, size bigint, importance text, in_reply_to uuid, forward_of uuid, draft_id uuid, draft_version integer,
  template_id uuid, list_id text, mail_merge_id uuid, track_opens boolean, track_clicks boolean, reference text,
  thread_id text, internet_message_id text, waiting text[], compared text[], send_at timestamptz, undo_seconds integer`

function sendRows(sends: readonly AccountSend[]) {
  const { rows, blob } = contentRows(sends.map(({ send: { content } }) => content))
  return {
    blob,
    rows: sends.map(({ account, send }, nth) => {
      const waiting = envelopeRecipients(send.to, send.cc, send.bcc)
      const { options } = send
      return {
        id: send.id,
        account_id: account.id,
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
        draft_version: send.draftVersion,
        template_id: send.templateId,
        list_id: send.listId,
        mail_merge_id: send.mailMergeId,
        track_opens: send.tracking.opens,
        track_clicks: send.tracking.clicks,
        reference: options.reference ?? null,
        thread_id: send.threadId,
        internet_message_id: send.internetMessageId,
        waiting,
        compared: waiting.map(comparedAddress),
        send_at: options.sendAt ?? null,
        undo_seconds: undoSecondsOf({ account, send }),
        ...rows[nth],
      }
    }),
  }
}

/** Seconds in which the send can be undone. */
export function undoSecondsOf({ account, send: { options } }: AccountSend): number {
  return options.undoSendSeconds ?? effectiveSettings(account.tenant_settings, account).undoSendSeconds
}
