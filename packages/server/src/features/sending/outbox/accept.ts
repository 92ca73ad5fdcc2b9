import { type RawBuilder, sql } from 'kysely'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { Address } from '@waxwing/contract/shapes.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { SNIPPET_LENGTH } from '../../../kit/mime/snippet.ts'
import { collapseText, cutText } from '../../../kit/mime/text.ts'
import { requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountView } from '../../accounts/accounts/account.ts'
import { effectiveSettings } from '../../accounts/accounts/rules.ts'
import type { AccountKeys } from '../../accounts/accounts/secrets.ts'
import type { RequestContext } from '../../context.ts'
import { insertingSend } from '../../mail/messages/record-sends.ts'
import { refuse } from '../../refuse.ts'
import type { Links } from '../links.ts'
import { AttachmentChanged, AttachmentsTooLarge } from '../compose/attached.ts'
import type { Composed } from '../compose/compose.ts'
import { envelopeRecipients } from '../compose/rules.ts'
import { copyForm } from '../compose/stored-content.ts'
import { requireUnsuppressed } from '../suppressions/access.ts'
import { bindingContent, removeContent, type WrittenContent, writeContent } from './content.ts'
import { countSend } from './limits.ts'
import type { ReachSendPoint } from './points.ts'
import { entryColumns, type EntryRow, presentEntry } from './present.ts'
import { bringForward, lookedAt } from './record.ts'
import { planSendTime } from './rules.ts'
import { readClock } from './store.ts'

/**
 * The worker is woken for what is due within this time. It looks once a second, and each look sees when the next entry
 * is due, so it needs no wake for others.
 */
const WAKE_SECONDS = 3

export interface AcceptServices {
  accountKeys: AccountKeys
  links: Links
  reach: ReachSendPoint
}

/** When a message is sent, and what the caller calls it. */
export interface SendOptions {
  sendAt?: Date | null | undefined
  undoSendSeconds?: number | undefined
  reference?: string | null | undefined
}

/** A message that is to be sent, composed or taken from a draft. */
export interface NewSend {
  /** The id of the entry, which the content names. */
  id: string
  /** With angle brackets, as the content has it. */
  internetMessageId: string
  from: Address
  to: readonly Address[]
  cc: readonly Address[]
  bcc: readonly Address[]
  replyTo: readonly Address[]
  subject: string | null
  importance: OutboxEntry['importance']
  /** The id of the message that it replies to, and its thread. */
  inReplyTo: string | null
  threadId: string | null
  /** The id of the message that it forwards. */
  forwardOf: string | null
  draftId: string | null
  templateId: string | null
  /** The suppression list that it names. */
  listId: string | null
  mailMergeId: string | null
  tracking: { opens: boolean; clicks: boolean }
  content: Composed
  options: SendOptions
}

/**
 * Refuses a send before any work is done for it: an account that cannot send now, nobody to send to, a time out of
 * bounds.
 */
export async function requireSendable(
  context: RequestContext,
  account: AccountView,
  recipients: readonly unknown[],
  { sendAt }: SendOptions,
): Promise<void> {
  requireConnectable(account)
  if (account.imap && !account.imap.smtp) {
    refuse('provider_unsupported', undefined, {
      message: 'The account has no SMTP server, so it only reads. Add one to its IMAP settings.',
    })
  }
  if (recipients.length === 0) refuse('no_recipients')
  // Without a time there is nothing to ask the clock of the database for.
  if (sendAt == null) return
  const planned = planSendTime(await readClock(context.db), sendAt, 0)
  if (typeof planned === 'string')
    refuse('invalid_input', { issues: [{ path: ['sendAt'], message: planned }] })
}

/**
 * Accepts a message: its content, the entry, the counts and the answer are durable together when this returns. What is
 * refused leaves nothing behind. Call `requireSendable` and `requireMaySend` before it is composed.
 * @param also what else belongs to the same commit
 */
export async function acceptSend(
  context: RequestContext,
  services: AcceptServices,
  account: AccountView,
  send: NewSend,
  also: (unit: UnitOfWork) => Promise<void> = async () => {},
): Promise<OutboxEntry> {
  await services.reach('content_write', send.id)
  const content = await write(context, services, account, send.content)
  try {
    await services.reach('content_written', send.id)
    const entry = await context.change(async unit => {
      await requireUnsuppressed(unit, send.listId, envelopeRecipients(send.to, send.cc, send.bcc))
      const { row, terms } = await insertSend(unit, account, send, content)
      await also(unit)
      if (terms.isSoon) unit.wake(account.id, 'waxwing_outbox')
      await countSend(unit, terms.sendsPerDay)
      await services.reach('accept_commit', send.id)
      return presentEntry(row)
    })
    await services.reach('accepted', send.id)
    return entry
  } catch (error) {
    // What an entry was made of stays: the commit may have succeeded although it failed here.
    if (content.piece === null) await context.step(unit => removeContent(unit, content.id)).catch(() => {})
    throw error
  }
}

async function write(
  context: RequestContext,
  { accountKeys }: AcceptServices,
  account: AccountView,
  composed: Composed,
): Promise<WrittenContent> {
  try {
    return await writeContent(composed, {
      accountId: account.id,
      sealingOf: accountKeys.outboxSealing(account),
      step: work => context.step(work),
    })
  } catch (error) {
    return refuseContent(error)
  }
}

/** Refuses what composing or reading a message throws because of its attachments. Any other error is thrown on. */
export function refuseContent(error: unknown): never {
  if (error instanceof AttachmentsTooLarge) refuse('attachments_too_large')
  if (error instanceof AttachmentChanged) refuse('provider_unavailable')
  throw error
}

interface Terms {
  /** As it is now. */
  accountStatus: AccountView['status']
  /** The largest message that the account's server takes, as it said last; null where it does not say. */
  bytesMax: number | null
  isPastDue: boolean
  /** Of the tenant's plan; null where it does not limit sends. */
  sendsPerDay: number | null
  /** False where the content was swept. */
  isBound: boolean
  /** Whether the account is looked at by the time at which the entry is due. */
  isLookedAt: boolean
  /** Whether a look of the worker that nobody wakes for it could come too late. */
  isSoon: boolean
}

/**
 * Writes the entry, its content and its Message-ID by one statement, and refuses what may not be sent. The account is
 * kept from being deleted until the commit: what is deleted accepts nothing more, and what was accepted before is
 * cancelled.
 */
async function insertSend(
  unit: UnitOfWork,
  account: AccountView,
  send: NewSend,
  content: WrittenContent,
): Promise<{ row: EntryRow; terms: Terms }> {
  const { layout } = send.content
  const size = copyForm({ layout, byteLength: content.bytes, open: nothing }, new Date()).byteLength
  const { id, internetMessageId, options } = send
  const reference = options.reference ?? null
  const { rows } = await sql<EntryRow & Terms>`
    with sender as (
      select account.id, account.status, tenant.past_due_at is not null as is_past_due, plan.sends_per_day
      from account join tenant on tenant.id = account.tenant_id left join plan on plan.id = tenant.plan_id
      where account.id = ${account.id} and account.deleted_at is null for key share of account
    ), added as (${insertingEntry(unit, account, send, size)}),
    ${bindingContent(content, sql`added`)},
    sent as (${insertingSend(account.id, { internetMessageId, outboxId: id, reference })})
    select ${entryColumns}, sender.status as "accountStatus", sender.is_past_due as "isPastDue",
      sender.sends_per_day as "sendsPerDay", exists (select from bound) as "isBound",
      exists (${lookedAt(sql`outbox`)}) as "isLookedAt",
      outbox.due_at < clock_timestamp() + make_interval(secs => ${WAKE_SECONDS}) as "isSoon",
      (select message_bytes_max::float8 from sending_account as held where held.account_id = sender.id) as "bytesMax"
    from sender, added as outbox, (select null::uuid as id, null::text as thread_id) as copy
  `.execute(unit.sql)
  const row = rows[0] ?? refuse('account_not_found')
  requireConnectable({ status: row.accountStatus })
  if (row.isPastDue) refuse('billing_past_due')
  if (row.bytesMax !== null && size > row.bytesMax) refuse('attachments_too_large')
  if (!row.isBound) refuse('overloaded')
  if (!row.isLookedAt) await bringForward(unit, account.id, row.send_at)
  return { row, terms: row }
}

function insertingEntry(
  unit: UnitOfWork,
  account: AccountView,
  send: NewSend,
  size: number | null,
): RawBuilder<unknown> {
  const { options } = send
  const undoSeconds =
    options.undoSendSeconds ?? effectiveSettings(account.tenant_settings, account).undoSendSeconds
  const sendAt = sql<Date>`greatest(
    coalesce(${options.sendAt ?? null}::timestamptz, '-infinity'),
    clock_timestamp() + make_interval(secs => ${undoSeconds}))`
  return sql`
    insert into outbox (id, tenant_id, account_id, "from", "to", cc, bcc, reply_to, subject, snippet, has_attachments,
      size, importance, in_reply_to, forward_of, draft_id, template_id, list_id, mail_merge_id, track_opens, track_clicks,
      reference, thread_id, internet_message_id, waiting, send_at, due_at)
    select ${send.id}, ${unit.tenantId}, sender.id, ${JSON.stringify(send.from)}::jsonb,
      ${JSON.stringify(send.to)}::jsonb, ${JSON.stringify(send.cc)}::jsonb, ${JSON.stringify(send.bcc)}::jsonb,
      ${JSON.stringify(send.replyTo)}::jsonb, ${send.subject}, ${snippetOf(send.content.text)},
      ${send.content.hasAttachments}, ${size}, ${send.importance}, ${send.inReplyTo}, ${send.forwardOf},
      ${send.draftId}, ${send.templateId}, ${send.listId}, ${send.mailMergeId}, ${send.tracking.opens},
      ${send.tracking.clicks}, ${options.reference ?? null}, ${send.threadId}, ${send.internetMessageId},
      ${envelopeRecipients(send.to, send.cc, send.bcc)}, due.at, due.at
    from sender, (select ${sendAt} as at) as due
    returning *`
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function snippetOf(text: string): string {
  return cutText(collapseText(text), SNIPPET_LENGTH).trimEnd()
}
