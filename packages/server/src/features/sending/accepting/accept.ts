import type { NewSend } from './new-send.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { SNIPPET_LENGTH } from '../../../kit/mime/snippet.ts'
import { collapseText, cutText } from '../../../kit/mime/text.ts'
import { requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Links } from '../links.ts'
import { AttachmentChanged, AttachmentsTooLarge } from '../compose/attached.ts'
import type { Composition } from '../compose/composition.ts'
import { type ContentLayout, copyForm } from '../compose/stored-content.ts'
import { recordNamedList } from '../suppressions/record-lists.ts'
import { openWritten, removeContent } from '../outbox/content.ts'
import type { AccountSend, InsertedSend, WrittenSend } from './new-send.ts'
import { requireFittingContent } from './fitting-content.ts'
import { countInserted, insertSends } from './insert-sends.ts'
import { enterLargeContents, type LargeContents } from './large-contents.ts'
import type { ReachSendPoint } from '../outbox/points.ts'
import { acceptedRow, presentEntry } from '../outbox/present.ts'
import { planSendTime } from '../outbox/schedule.ts'
import type { SharedAccepts } from './shared-accepts.ts'
import { type ContentTarget, writeContent } from './write-content.ts'
import { type WrittenContent } from './written-content.ts'

export interface AcceptServices {
  accountKeys: AccountKeys
  largeContents: LargeContents
  links: Links
  reach: ReachSendPoint
  sharedAccepts: SharedAccepts
}

/** Facts of a send that are not in its message. Facts that do not apply are left out. */
type SendFacts = Pick<NewSend, 'tracking' | 'options'> & Partial<Pick<NewSend, keyof typeof NO_FACTS>>

const NO_FACTS = {
  inReplyTo: null,
  threadId: null,
  forwardOf: null,
  draftId: null,
  draftVersion: null,
  templateId: null,
  listId: null,
  mailMergeId: null,
}

/** The send of a composed message. */
export function newSend(
  id: string,
  { internetMessageId, from, to, cc, bcc, replyTo, subject, importance }: Omit<Composition, 'attachments'>,
  facts: SendFacts,
): Omit<NewSend, 'content'> {
  return { ...NO_FACTS, ...facts, id, internetMessageId, from, to, cc, bcc, replyTo, subject, importance }
}

/** Refuses a send before any work is done for it: its account cannot send now, or it has no recipients. */
export function requireSendable(account: AccountView, recipients: readonly unknown[]): void {
  requireConnectable(account)
  requireServer(account)
  if (recipients.length === 0) refuse('no_recipients')
}

/** Refuses an account that has no server to send by. */
export function requireServer(account: Pick<AccountView, 'imap'>): void {
  if (account.imap && !account.imap.smtp) {
    refuse('provider_unsupported', undefined, {
      message: 'The account has no SMTP server, so it only reads. Add one to its IMAP settings.',
    })
  }
}

/** Refuses a time out of bounds. @param now by the clock of the database */
export function requireSendTime(sendAt: Date | null | undefined, now: Date): void {
  const planned = planSendTime(now, sendAt ?? null, 0)
  if (typeof planned === 'string')
    refuse('invalid_input', { issues: [{ path: ['sendAt'], message: planned }] })
}

/**
 * Accepts a message: its content, the entry, the counts and the answer are durable together when this returns. A
 * refused message leaves nothing behind. Call `requireSendable`, `requireSendTime` and `requireMaySend` before the
 * message is composed.
 * @param also work that belongs to the same commit
 * @param now the time by the database, for a send that may be inserted as planned
 */
export async function acceptSend(
  context: RequestContext,
  services: AcceptServices,
  account: AccountView,
  { content: composed, ...send }: NewSend,
  { also, now = null }: { also?: (unit: UnitOfWork) => Promise<void>; now?: (() => Date) | null } = {},
): Promise<OutboxEntry> {
  await services.reach('content_write', send.id)
  const target = contentTarget(context, services, account)
  const content = await writeContent(composed, target).catch(refuseContent)
  const accepting = { account, send: { ...send, ...describe(composed, content), content } }
  let inserted: InsertedSend | null = null
  const isShared = content.piece !== null && also === undefined
  try {
    await services.reach('content_written', send.id)
    await requireFittingContent(account, {
      layout: composed.layout,
      byteLength: content.bytes,
      open: () => openWritten(context.db, content, target.sealingOf(content.id)),
    })
    const entry = await context.change(
      async unit => {
        const row = inserted ?? (await insertAlone(unit, accepting, also))
        if (row.isSoon) unit.wake(account.id, 'waxwing_outbox')
        await services.reach('accept_commit', send.id)
        return presentEntry(acceptedRow(accepting, row))
      },
      isShared
        ? { transact: services.sharedAccepts.transactFor({ ...accepting, now }, row => (inserted = row)) }
        : {},
    )
    await services.reach('accepted', send.id)
    return entry
  } catch (error) {
    // Content that is bound to an entry stays: the commit may have succeeded although it failed here.
    if (content.piece === null) await context.step(unit => removeContent(unit, [content.id])).catch(() => {})
    throw error
  }
}

async function insertAlone(
  unit: UnitOfWork,
  accepting: AccountSend,
  also: (unit: UnitOfWork) => Promise<void> = async () => {},
): Promise<InsertedSend> {
  const { id, listId } = accepting.send
  if (listId !== null) await recordNamedList(unit, listId)
  const inserted = await insertSends(unit, [accepting], { unsendable: 'refuse', intervalSeconds: 0 })
  await also(unit)
  const counted = await countInserted(unit, [accepting], inserted)
  return counted.get(id) ?? refuse('plan_limit_sends')
}

/** The target to which the content of an account's sends is written. */
export function contentTarget(
  context: RequestContext,
  { accountKeys, largeContents }: Pick<AcceptServices, 'accountKeys' | 'largeContents'>,
  account: AccountView,
): ContentTarget {
  return {
    accountId: account.id,
    sealingOf: accountKeys.outboxSealing(account),
    step: work => context.step(work),
    enterLarge: () => enterLargeContents(largeContents, context.tenantId),
  }
}

/** Facts of the content that its entry shows. */
export function describe(
  { layout, text, hasAttachments }: { layout: ContentLayout; text: string; hasAttachments: boolean },
  { bytes, tail }: WrittenContent,
): Pick<WrittenSend, 'snippet' | 'hasAttachments' | 'size'> {
  const stored = { layout, byteLength: bytes + (tail?.bytes ?? 0), open: nothing }
  return {
    snippet: snippetOf(text),
    hasAttachments,
    size: copyForm(stored, new Date()).byteLength,
  }
}

/** The beginning of a text on one line. Only a text that begins with many blanks is read further. */
function snippetOf(text: string): string {
  const beginning = collapseText(text.slice(0, BEGINNING_LENGTH))
  const shown = beginning.length > SNIPPET_LENGTH ? beginning : collapseText(text)
  return cutText(shown, SNIPPET_LENGTH).trimEnd()
}

const BEGINNING_LENGTH = 4 * SNIPPET_LENGTH

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Turns errors of attachments, from composing or reading a message, into refusals. Any other error is thrown on. */
export function refuseContent(error: unknown): never {
  if (error instanceof AttachmentsTooLarge) refuse('attachments_too_large')
  if (error instanceof AttachmentChanged) refuse('provider_unavailable')
  throw error
}
