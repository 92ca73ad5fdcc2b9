import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { SendBody } from '@waxwing/contract/sending/send-body.ts'
import { newId } from '../../../kit/ids.ts'
import type { RequestContext } from '../../context.ts'
import type { ReadContext } from '../../mail/content/body.ts'
import { requireSender } from '../../mail/identities/access.ts'
import { refuse } from '../../refuse.ts'
import { composeMessage, type Composition } from '../compose/compose.ts'
import { planComposition, requireOriginals } from '../compose/plan-composition.ts'
import { newInternetMessageId } from '../compose/rules.ts'
import { requireListSend } from '../suppressions/access.ts'
import { unsubscribeUrl } from '../suppressions/unsubscribe-link.ts'
import { createSendTracker, requireTracking } from '../tracking/track-send.ts'
import { acceptSend, type AcceptServices, refuseContent, requireSendable, requireSendTime } from './accept.ts'
import type { SendingTerms } from './sending-terms.ts'

export interface SendServices extends AcceptServices {
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
  const { tenantId } = context
  if (sendsLeft !== null && sendsLeft <= 0) refuse('plan_limit_sends')
  requireSendable(account, [...to, ...cc, ...bcc])
  requireSendTime(body.sendAt, now)
  if (listId !== null) requireListSend(services.links, { to, cc, bcc })
  const originals = await requireOriginals(services.content, account, body)
  const sender = await requireSender(context.db, account, body.from ?? null, signature)
  const id = newId()
  const internetMessageId = newInternetMessageId(id, sender.address)
  const composing = { ...originals, sender, isSigned: body.sign ?? signByDefault, kept: null }
  const asked = { asked: body, hasHtml: (body.html ?? '') !== '' }
  const tracker = createSendTracker(
    services,
    account,
    await requireTracking(context, services, account, asked),
    id,
  )
  const composition: Composition = {
    ...(await planComposition(services.content, account, body, composing)),
    wireHtml: tracker.wireHtml,
    internetMessageId,
    outboxId: id,
    unsubscribeUrl:
      listId === null
        ? null
        : unsubscribeUrl(services.links, { tenantId, listId, address: to[0]!.address, outboxId: id }),
    draftMark: null,
    // Replaced by the time of the first attempt.
    date: new Date(),
  }
  const { from, subject, importance } = composition
  const composed = await composeMessage(composition).catch(refuseContent)
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
    templateId: null,
    listId,
    mailMergeId: null,
    tracking: tracker.result(),
    content: composed,
    options: body,
  })
}
