import type { AddressInput } from '@waxwing/contract/mail/address-input.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { ATTACHED_BYTES_MAX, type SendBody } from '@waxwing/contract/sending/send-body.ts'
import type { Address } from '@waxwing/contract/shapes.ts'
import { newId } from '../../../kit/ids.ts'
import type { AccountView } from '../../accounts/accounts/account.ts'
import type { RequestContext } from '../../context.ts'
import type { ReadContext } from '../../mail/content/body.ts'
import { requireSender, type Sender } from '../../mail/identities/access.ts'
import { findMailSettings } from '../../mail/mail-settings/store.ts'
import type { FullRow } from '../../mail/messages/store.ts'
import { refuse } from '../../refuse.ts'
import { type AttachedFile, fileOfContent } from '../compose/attached.ts'
import { composeMessage, type Composition } from '../compose/compose.ts'
import {
  attachedBytes,
  forwardSubject,
  newInternetMessageId,
  planReply,
  replySubject,
} from '../compose/rules.ts'
import { acceptSend, type AcceptServices, requireSendable } from './accept.ts'
import { findOriginal, forwardedFiles, readThreadFields, referredFile } from './original.ts'

export interface SendServices extends AcceptServices {
  /** Reads messages that are replied to, forwarded or attached from. */
  content: ReadContext
}

/** Composes a message from the body of a request, and accepts it. */
export async function sendMessage(
  context: RequestContext,
  services: SendServices,
  account: AccountView,
  body: SendBody,
): Promise<OutboxEntry> {
  const { to = [], cc = [], bcc = [], replyTo = [] } = body
  await requireSendable(context, account, [...to, ...cc, ...bcc], body)
  if (attachedBytes(body.attachments ?? []) > ATTACHED_BYTES_MAX) refuse('attachments_too_large')
  const sender = await requireSender(context.db, account, body.from ?? null)
  const original = await requireOriginals(services.content, account, body)
  const id = newId()
  const internetMessageId = newInternetMessageId(id, sender.address)
  const composition: Composition = {
    internetMessageId,
    outboxId: id,
    draftMark: null,
    // Replaced by the time of the first attempt.
    date: new Date(),
    from: { name: sender.name, address: sender.address },
    to: to.map(toAddress),
    cc: cc.map(toAddress),
    bcc: bcc.map(toAddress),
    replyTo: replyTo.map(toAddress),
    subject: subjectOf(body, original),
    ...(await threadingOf(services.content, account, original.replied)),
    importance: body.importance ?? null,
    headers: body.headers ?? [],
    text: body.text ?? null,
    html: body.html ?? null,
    signature: await signatureOf(context, account, sender, body),
    attachments: await filesOf(services.content, account, body, original.forwarded),
  }
  const { from, subject, importance } = composition
  return acceptSend(context, services, account, {
    id,
    internetMessageId,
    from,
    to: composition.to,
    cc: composition.cc,
    bcc: composition.bcc,
    replyTo: composition.replyTo,
    subject,
    importance,
    inReplyTo: original.replied?.id ?? null,
    threadId: original.replied?.thread_id ?? null,
    forwardOf: original.forwarded?.id ?? null,
    draftId: null,
    content: await composeMessage(composition),
    options: body,
  })
}

interface Originals {
  replied: FullRow | null
  forwarded: FullRow | null
}

async function requireOriginals(
  content: ReadContext,
  account: AccountView,
  { inReplyTo, forwardOf }: SendBody,
): Promise<Originals> {
  const replied = await findOriginal(content, account.id, inReplyTo)
  if (inReplyTo != null && !replied) refuse('unknown_reply_target')
  const forwarded = await findOriginal(content, account.id, forwardOf)
  if (forwardOf != null && !forwarded) refuse('unknown_message')
  return { replied, forwarded }
}

function subjectOf({ subject }: SendBody, { replied, forwarded }: Originals): string {
  if (subject != null) return subject
  if (replied) return replySubject(replied.subject)
  return forwarded ? forwardSubject(forwarded.subject) : ''
}

async function threadingOf(content: ReadContext, account: AccountView, replied: FullRow | null) {
  if (!replied) return { inReplyTo: null, references: [] }
  return planReply(await readThreadFields(content, account, replied))
}

async function signatureOf(
  { db }: RequestContext,
  account: AccountView,
  { signature }: Sender,
  { sign }: SendBody,
) {
  const isSigned = sign ?? (await findMailSettings(db, account.id)).signByDefault
  return isSigned ? signature : null
}

async function filesOf(
  content: ReadContext,
  account: AccountView,
  { attachments = [] }: SendBody,
  forwarded: FullRow | null,
): Promise<AttachedFile[]> {
  const files = forwarded ? await forwardedFiles(content, account, forwarded) : []
  for (const { content: base64, messageId, attachmentId, ...traits } of attachments) {
    if (base64 !== undefined) files.push(fileOfContent({ ...traits, content: base64 }))
    // The contract's schema lets no item pass that has neither.
    else if (messageId !== undefined && attachmentId !== undefined)
      files.push(await referredFile(content, account, { ...traits, messageId, attachmentId }))
  }
  return files
}

function toAddress({ name, address }: AddressInput): Address {
  return { name: name || null, address }
}
