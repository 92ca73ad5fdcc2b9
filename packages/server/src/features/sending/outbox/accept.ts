import { sql } from 'kysely'
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
import { recordSend } from '../../mail/messages/record-sends.ts'
import { refuse } from '../../refuse.ts'
import { AttachmentChanged, AttachmentsTooLarge } from '../compose/attached.ts'
import type { Composed } from '../compose/compose.ts'
import { envelopeRecipients } from '../compose/rules.ts'
import { copyForm } from '../compose/stored-content.ts'
import { bindContent, removeContent, type WrittenContent, writeContent } from './content.ts'
import { countSend } from './limits.ts'
import type { ReachSendPoint } from './points.ts'
import { presentEntry } from './present.ts'
import { bringForward, requireEntry } from './record.ts'
import { planSendTime } from './rules.ts'
import { readClock } from './store.ts'

export interface AcceptServices {
  accountKeys: AccountKeys
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
  const planned = planSendTime(await readClock(context.db), sendAt ?? null, 0)
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
      const accepted = await insertSend(unit, account, send, content)
      await also(unit)
      unit.wake(account.id, 'waxwing_outbox')
      await countSend(unit)
      await services.reach('accept_commit', send.id)
      return accepted
    })
    await services.reach('accepted', send.id)
    return entry
  } catch (error) {
    // What an entry was made of stays: the commit may have succeeded although it failed here.
    if (content.pieces === null) await context.step(unit => removeContent(unit, content.id)).catch(() => {})
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

async function insertSend(
  unit: UnitOfWork,
  account: AccountView,
  send: NewSend,
  content: WrittenContent,
): Promise<OutboxEntry> {
  const { id, internetMessageId, options } = send
  const bytesMax = await requireStillSendable(unit, account.id)
  const size = copyForm(
    { ...content, ...layoutOf(send), byteLength: content.bytes, open: nothing },
    new Date(),
  ).byteLength
  if (bytesMax !== null && size > bytesMax) refuse('attachments_too_large')
  const undoSeconds =
    options.undoSendSeconds ?? effectiveSettings(account.tenant_settings, account).undoSendSeconds
  const reference = options.reference ?? null
  const sendAt = sql<Date>`greatest(
    coalesce(${options.sendAt ?? null}::timestamptz, '-infinity'),
    clock_timestamp() + make_interval(secs => ${undoSeconds}))`
  const { rows } = await sql<{ send_at: Date }>`
    insert into outbox (id, tenant_id, account_id, "from", "to", cc, bcc, reply_to, subject, snippet, has_attachments,
      size, importance, in_reply_to, forward_of, draft_id, reference, thread_id, internet_message_id, waiting, send_at,
      due_at)
    select ${id}, ${unit.tenantId}, ${account.id}, ${JSON.stringify(send.from)}::jsonb,
      ${JSON.stringify(send.to)}::jsonb, ${JSON.stringify(send.cc)}::jsonb, ${JSON.stringify(send.bcc)}::jsonb,
      ${JSON.stringify(send.replyTo)}::jsonb, ${send.subject}, ${snippetOf(send.content.text)},
      ${send.content.hasAttachments}, ${size}, ${send.importance}, ${send.inReplyTo}, ${send.forwardOf},
      ${send.draftId}, ${reference}, ${send.threadId}, ${internetMessageId},
      ${envelopeRecipients(send.to, send.cc, send.bcc)}, due.at, due.at
    from (select ${sendAt} as at) as due
    returning send_at
  `.execute(unit.sql)
  const isBound = await bindContent(unit, { accountId: account.id, id }, content)
  if (!isBound) refuse('overloaded')
  await recordSend(unit, account.id, { internetMessageId, outboxId: id, reference })
  await bringForward(unit, account.id, rows[0]!.send_at)
  return presentEntry(await requireEntry(unit, { accountId: account.id, id }))
}

/**
 * The account, kept from being deleted until the commit: what is deleted accepts nothing more, and what was accepted
 * before is cancelled. @returns the largest message that its server takes, as it said last
 */
async function requireStillSendable(unit: UnitOfWork, accountId: string): Promise<number | null> {
  const { rows } = await sql<{ status: AccountView['status']; bytes_max: number | null }>`
    select account.status, (
      select message_bytes_max::float8 from sending_account as held where held.account_id = account.id
    ) as bytes_max
    from account where account.id = ${accountId} and account.deleted_at is null for key share
  `.execute(unit.sql)
  const account = rows[0] ?? refuse('account_not_found')
  requireConnectable(account)
  return account.bytes_max
}

const layoutOf = ({ content: { layout } }: NewSend) => ({ layout })

async function* nothing(): AsyncGenerator<Uint8Array> {}

function snippetOf(text: string): string {
  return cutText(collapseText(text), SNIPPET_LENGTH).trimEnd()
}
