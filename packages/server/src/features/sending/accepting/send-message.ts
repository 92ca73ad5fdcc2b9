import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { SendBody } from '@waxwing/contract/sending/send-body.ts'
import { newId } from '../../../kit/ids.ts'
import type { RequestContext } from '../../../calls/context.ts'
import type { ReadContext } from '../../mail/content/body.ts'
import { requireSender } from '../../mail/identities/access.ts'
import { refreshIdentities } from '../../mail/identities/refresh.ts'
import { refuse } from '../../../calls/refuse.ts'
import { composeMessage } from '../compose/compose.ts'
import { type Composition } from '../compose/composition.ts'
import { planComposition, requireOriginals } from '../compose/plan-composition.ts'
import { renderContent, requireContentTemplate } from '../compose/render-content.ts'
import { newInternetMessageId } from '../compose/rules.ts'
import { requireListSend } from '../suppressions/access.ts'
import { listRecipient } from '../suppressions/unsubscribe-link.ts'
import type { Rendering } from '../templates/access.ts'
import { isTrackable } from '../tracking/track-html.ts'
import { createSendTracker, requireTracked, requireTracking } from '../tracking/track-send.ts'
import {
  acceptSend,
  type AcceptServices,
  newSend,
  refuseContent,
  requireSendable,
  requireSendTime,
} from './accept.ts'
import type { SendingTerms, TermReads } from './sending-terms.ts'

export interface SendServices extends AcceptServices, Rendering {
  /** Reads messages that are replied to, forwarded or attached from. */
  content: ReadContext
  termReads: TermReads
}

/** Composes a message from the body of a request, and accepts it. */
export async function sendMessage(
  context: RequestContext,
  services: SendServices,
  terms: SendingTerms,
  body: SendBody,
): Promise<OutboxEntry> {
  const { account, sendsLeft, signByDefault, signature } = terms
  const { to = [], cc = [], bcc = [], listId = null } = body
  using _ = services.sharedAccepts.expect(context.tenantId)
  if (sendsLeft !== null && sendsLeft <= 0) refuse('plan_limit_sends')
  requireSendable(account, [...to, ...cc, ...bcc])
  requireSendTime(body.sendAt, terms.now())
  if (listId !== null) requireListSend(services.links, { to, cc, bcc })
  const originals = await requireOriginals(services.content, account, body)
  const isRefreshed = await refreshIdentities(services.content, account)
  const known = isRefreshed ? undefined : signature
  const sender = await requireSender(context.db, account, body.from ?? null, known)
  const id = newId()
  const internetMessageId = newInternetMessageId(id, sender.address)
  const ids = { tenantId: context.tenantId, outboxId: id }
  const rcpt = listId === null ? null : listRecipient(services.links, { ...ids, listId }, to[0]!)
  const template = await requireContentTemplate(context, services, account, body)
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
  const composed = await composeMessage(composition, services.slicesOf(context.tenantId)).catch(refuseContent)
  requireTracked(tracker, body)
  const send = newSend(id, composition, {
    inReplyTo: originals.replied?.id ?? null,
    threadId: originals.replied?.thread_id ?? null,
    forwardOf: originals.forwarded?.id ?? null,
    templateId: template?.templateId ?? null,
    listId,
    tracking: tracker.result(),
    options: body,
  })
  // A send that a plan limits has to be counted, and a list may have to be created.
  const now = sendsLeft === null && listId === null ? () => terms.now() : null
  return acceptSend(context, services, account, { ...send, content: composed }, { now })
}
