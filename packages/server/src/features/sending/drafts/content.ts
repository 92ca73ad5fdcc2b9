import { type MessageReader, type ReadMessage, ReaderLost } from '../../../kit/mime/message-reader.ts'
import { HEADER_BYTES_MAX } from '../../../kit/mime/header.ts'
import { identityOf } from '../../../kit/mime/identity.ts'
import { summarize } from '../../../kit/mime/summary.ts'
import type { NewMessage } from '../../../providers/changing.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { type DraftMark, draftMark } from '../../../providers/draft-mark.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { RequestContext } from '../../../calls/context.ts'
import type { KeylessMessage } from '../../mail/messages/record-new-locations.ts'
import { composeMessage } from '../compose/compose.ts'
import type { Composition, PlannedComposition } from '../compose/composition.ts'
import { type ContentForm, copyForm } from '../compose/stored-content.ts'
import { contentTarget, refuseContent } from '../accepting/accept.ts'
import { requireFittingForm } from '../accepting/fitting-content.ts'
import { openWritten, removeContent } from '../outbox/content.ts'
import { writeContent } from '../accepting/write-content.ts'
import type { DraftServices } from './services.ts'

/** A draft is filed as read, since its author has read it. */
const FLAGS = { isRead: true, isFlagged: false, isDraft: true, categories: [] }

/** The content of a draft, written to the database, so that its parts are read only once. */
export interface DraftContent {
  form: ContentForm
  /** As the index shows it. */
  message: KeylessMessage
  /** As the interface shows it; null if it is too much to read. */
  read: ReadMessage | null
  /** As it is handed to the provider. */
  newMessage: NewMessage
  mark: DraftMark
  /** Deletes the written content, in the commit of a success, or after a failure. The content must not be read then. */
  discard(unit?: UnitOfWork): Promise<void>
}

/** The content of a draft, with its Message-ID and Date. */
export type DraftComposition = PlannedComposition & Pick<Composition, 'internetMessageId' | 'date'>

/**
 * Composes a draft, and writes it down until it is at the provider.
 * @param threadId the thread that it belongs to
 */
export async function writeDraft(
  context: RequestContext,
  services: DraftServices,
  account: AccountView,
  composition: DraftComposition,
  mark: DraftMark,
  threadId: string | null,
): Promise<DraftContent> {
  const { internetMessageId, date } = composition
  const inDrafts = { outboxId: null, unsubscribeUrl: null, draftMark: draftMark(mark), wireHtml: null }
  const composed = await composeMessage(
    { ...composition, ...inDrafts },
    services.slicesOf(account.tenant_id),
  ).catch(refuseContent)
  const to = contentTarget(context, services, account)
  const { sealingOf } = to
  const written = await writeContent(composed, to).catch(refuseContent)
  const discard = async (unit?: UnitOfWork) => {
    if (written.piece !== null) return
    if (unit) await removeContent(unit, [written.id])
    // Content that stays is swept later.
    else await context.step(own => removeContent(own, [written.id])).catch(() => {})
  }
  try {
    const open = () => openWritten(context.db, written, sealingOf(written.id))
    const form = copyForm({ layout: composed.layout, byteLength: written.bytes, open }, date)
    await requireFittingForm(account, form)
    const { hasAttachments } = composed
    const message = { ...(await summaryOf(form, date)), hasAttachments, draftMark: mark, draftKey: null }
    const read = await readForm(services.content.reader, account.tenant_id, form)
    const { byteLength } = form
    const newMessage = {
      internetMessageId,
      byteLength,
      open: () => form.open(),
      split: form.split,
      flags: FLAGS,
      receivedAt: date,
      threadId,
    }
    return { form, message, read, newMessage, mark, discard }
  } catch (error) {
    await discard()
    throw error
  }
}

async function summaryOf(
  form: ContentForm,
  receivedAt: Date,
): Promise<Omit<KeylessMessage, 'draftMark' | 'draftKey' | 'hasAttachments'>> {
  const head: Buffer[] = []
  let bytes = 0
  for await (const piece of form.open()) {
    head.push(piece)
    bytes += piece.length
    if (bytes >= HEADER_BYTES_MAX) break
  }
  const { internetMessageId, references, inReplyTo, subject, from, to, cc, bcc, replyTo, ...summary } =
    summarize(Buffer.concat(head), bytes < form.byteLength)
  const { sentAt, snippet, importance } = summary
  const facts = { internetMessageId, subject, from, sentAt, receivedAt, size: form.byteLength }
  return {
    mailboxKeys: [],
    identity: identityOf(facts),
    threadId: null,
    references,
    inReplyTo,
    to,
    cc,
    bcc,
    replyTo,
    snippet,
    importance,
    mayBeReport: false,
    mayBeInvitation: false,
    ...facts,
    ...FLAGS,
  }
}

async function readForm(
  reader: MessageReader,
  tenantId: string,
  form: ContentForm,
): Promise<ReadMessage | null> {
  try {
    return await reader.read(tenantId, form.open())
  } catch (error) {
    if (!(error instanceof ReaderLost)) throw error
    return reader.read(tenantId, form.open())
  }
}
