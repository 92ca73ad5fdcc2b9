import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { SendBody } from '@waxwing/contract/sending/send-body.ts'
import { newId } from '../../../kit/ids.ts'
import type { AccountView } from '../../accounts/accounts/account.ts'
import type { RequestContext } from '../../context.ts'
import type { ReadContext } from '../../mail/content/body.ts'
import { requireSender } from '../../mail/identities/access.ts'
import { findMailSettings } from '../../mail/mail-settings/store.ts'
import { composeMessage, type Composition } from '../compose/compose.ts'
import { planComposition, requireOriginals } from '../compose/plan-composition.ts'
import { renderContent, type Rendering, requireContentTemplate } from '../compose/render-content.ts'
import { newInternetMessageId } from '../compose/rules.ts'
import { acceptSend, type AcceptServices, refuseContent, requireSendable } from './accept.ts'

export interface SendServices extends AcceptServices, Rendering {
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
  const { to = [], cc = [], bcc = [] } = body
  await requireSendable(context, account, [...to, ...cc, ...bcc], body)
  const originals = await requireOriginals(services.content, account, body)
  const sender = await requireSender(context.db, account, body.from ?? null)
  const template = await requireContentTemplate(context, account, body)
  const content = template
    ? { ...body, ...(await renderContent(context, services, account, template)) }
    : body
  const isSigned = body.sign ?? (await findMailSettings(context.db, account.id)).signByDefault
  const id = newId()
  const internetMessageId = newInternetMessageId(id, sender.address)
  const composing = { ...originals, sender, isSigned, kept: null }
  const composition: Composition = {
    ...(await planComposition(services.content, account, content, composing)),
    internetMessageId,
    outboxId: id,
    draftMark: null,
    // Replaced by the time of the first attempt.
    date: new Date(),
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
    inReplyTo: originals.replied?.id ?? null,
    threadId: originals.replied?.thread_id ?? null,
    forwardOf: originals.forwarded?.id ?? null,
    draftId: null,
    templateId: template?.templateId ?? null,
    listId: null,
    mailMergeId: null,
    tracking: { opens: false, clicks: false },
    content: await composeMessage(composition).catch(refuseContent),
    options: body,
  })
}
