import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { SendBody } from '@waxwing/contract/sending/send-body.ts'
import { newId } from '../../../kit/ids.ts'
import type { RequestContext } from '../../context.ts'
import type { ReadContext } from '../../mail/content/body.ts'
import { requireSender } from '../../mail/identities/access.ts'
import { refuse } from '../../refuse.ts'
import { composeMessage, type Composition } from '../compose/compose.ts'
import { planComposition, requireOriginals } from '../compose/plan-composition.ts'
import { renderContent, type Rendering, requireContentTemplate } from '../compose/render-content.ts'
import { newInternetMessageId } from '../compose/rules.ts'
import { requireListSend } from '../suppressions/access.ts'
import { listRecipient } from '../suppressions/unsubscribe-link.ts'
import { isTrackable } from '../tracking/track-html.ts'
import { createSendTracker, requireTracked, requireTracking } from '../tracking/track-send.ts'
import { acceptSend, type AcceptServices, refuseContent, requireSendable, requireSendTime } from './accept.ts'
import type { SendingTerms } from './sending-terms.ts'

export interface SendServices extends AcceptServices, Rendering {
  /** Reads messages that are replied to, forwarded or attached from. */
  content: ReadContext
}

/** Composes a message from the body of a request, and accepts it. */
export async function sendMessage(
  context: RequestContext,
  services: SendServices,
  terms: SendingTerms,
  body: SendBody,
): Promise<OutboxEntry> {
  const { account, sendsLeft, signByDefault, signature, now } = terms
  const { to = [], cc = [], bcc = [], listId = null } = body
  if (sendsLeft !== null && sendsLeft <= 0) refuse('plan_limit_sends')
  requireSendable(account, [...to, ...cc, ...bcc])
  requireSendTime(body.sendAt, now)
  if (listId !== null) requireListSend(services.links, { to, cc, bcc })
  const originals = await requireOriginals(services.content, account, body)
  const sender = await requireSender(context.db, account, body.from ?? null, signature)
  const id = newId()
  const internetMessageId = newInternetMessageId(id, sender.address)
  const ids = { tenantId: context.tenantId, outboxId: id }
  const rcpt = listId === null ? null : listRecipient(services.links, { ...ids, listId }, to[0]!)
  const template = await requireContentTemplate(context, account, body)
  const content = template
    ? { ...body, ...(await renderContent(context, services, account, template, rcpt ?? undefined)) }
    : body
  const composing = { ...originals, sender, isSigned: body.sign ?? signByDefault, kept: null }
  const asked = { asked: body, hasHtml: isTrackable(content.html) }
  const tracking = await requireTracking(context, services, account, asked)
  const tracker = createSendTracker(services, account, tracking, { outboxId: id })
  const composition: Composition = {
    ...(await planComposition(services.content, account, content, composing)),
    wireHtml: tracker.wireHtml,
    internetMessageId,
    outboxId: id,
    unsubscribeUrl: rcpt?.unsubscribeUrl ?? null,
    draftMark: null,
    // Replaced by the time of the first attempt.
    date: new Date(),
  }
  const { from, subject, importance } = composition
  const composed = await composeMessage(composition).catch(refuseContent)
  requireTracked(tracker, body)
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
    listId,
    mailMergeId: null,
    tracking: tracker.result(),
    content: composed,
    options: body,
  })
}
