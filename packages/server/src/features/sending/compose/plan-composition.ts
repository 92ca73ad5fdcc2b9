import type { AddressInput } from '@waxwing/contract/mail/address-input.ts'
import { ATTACHED_BYTES_MAX, type DraftBody } from '@waxwing/contract/sending/send-body.ts'
import type { Address } from '@waxwing/contract/shapes.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { ReadContext } from '../../mail/content/body.ts'
import type { Sender } from '../../mail/identities/access.ts'
import { findMessage, type FullRow } from '../../mail/messages/store.ts'
import { refuse } from '../../../calls/refuse.ts'
import { type AttachedFile, fileOfContent } from './attached.ts'
import type { Composition, PlannedComposition } from './composition.ts'
import { forwardedFiles, readThreadFields, referredFile } from './original.ts'
import { attachedBytes, forwardSubject, planReply, replySubject } from './rules.ts'

/** The messages that a message replies to, or forwards. */
export interface Originals {
  replied: FullRow | null
  forwarded: FullRow | null
}

/** Refuses a body that names messages which the account lacks, or has too much to attach. */
export async function requireOriginals(
  content: ReadContext,
  account: AccountView,
  { inReplyTo, forwardOf, attachments = [] }: DraftBody,
): Promise<Originals> {
  if (attachedBytes(attachments) > ATTACHED_BYTES_MAX) refuse('attachments_too_large')
  const find = (id: string) => findMessage(content.db, account.id, id)
  const replied = inReplyTo == null ? null : ((await find(inReplyTo)) ?? refuse('unknown_reply_target'))
  const forwarded = forwardOf == null ? null : ((await find(forwardOf)) ?? refuse('unknown_message'))
  return { replied, forwarded }
}

/** Facts about a composition that are not in the body of the request. */
export interface Composing extends Originals {
  sender: Sender
  isSigned: boolean
  /** The references of a message that replies to nothing, as a draft keeps them. */
  kept: Pick<Composition, 'inReplyTo' | 'references'> | null
}

/** Plans the composition of a message from the body of a request. Reads files that are attached by reference. */
export async function planComposition(
  content: ReadContext,
  account: AccountView,
  body: DraftBody,
  { sender, isSigned, kept, ...originals }: Composing,
): Promise<PlannedComposition> {
  const { to = [], cc = [], bcc = [], replyTo = [] } = body
  return {
    from: { name: sender.name, address: sender.address },
    to: to.map(toAddress),
    cc: cc.map(toAddress),
    bcc: bcc.map(toAddress),
    replyTo: replyTo.map(toAddress),
    subject: subjectOf(body, originals),
    ...(await threadingOf(content, account, originals.replied, kept)),
    importance: body.importance ?? null,
    headers: body.headers ?? [],
    text: body.text ?? null,
    html: body.html ?? null,
    signature: isSigned ? sender.signature : null,
    calendar: null,
    attachments: await filesOf(content, account, body, originals.forwarded),
  }
}

function subjectOf({ subject }: DraftBody, { replied, forwarded }: Originals): string {
  if (subject != null) return subject
  if (replied) return replySubject(replied.subject)
  return forwarded ? forwardSubject(forwarded.subject) : ''
}

async function threadingOf(
  content: ReadContext,
  account: AccountView,
  replied: FullRow | null,
  kept: Composing['kept'],
) {
  if (!replied) return kept ?? { inReplyTo: null, references: [] }
  return planReply(await readThreadFields(content, account, replied))
}

async function filesOf(
  content: ReadContext,
  account: AccountView,
  { attachments = [] }: DraftBody,
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
