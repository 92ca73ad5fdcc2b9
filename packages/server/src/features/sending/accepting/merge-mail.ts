import type { MergeBody, MergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { newId } from '../../../kit/ids.ts'
import { htmlToTextSteps } from '../../../kit/mime/html-to-text.ts'
import type { InSlices } from '../../../kit/sliced-work.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { requireSender } from '../../mail/identities/access.ts'
import { refreshIdentities } from '../../mail/identities/refresh.ts'
import { planComposition, requireOriginals } from '../compose/plan-composition.ts'
import { renderContents, requireContentTemplate } from '../compose/render-content.ts'
import { prepareFiles } from '../compose/prepare-files.ts'
import { contentTarget, refuseContent, requireSendable, requireSendTime } from './accept.ts'
import type { SendServices } from './send-message.ts'
import type { SendingTerms } from './sending-terms.ts'
import { requireListSend } from '../suppressions/access.ts'
import { findSuppressed } from '../suppressions/store.ts'
import { listRecipient } from '../suppressions/unsubscribe-link.ts'
import { isTrackable, placesFinder } from '../tracking/track-html.ts'
import { createSendTracker, requireTracking } from '../tracking/track-send.ts'
import { acceptEntries } from './accept-entries.ts'
import { type EntryError, entryError, type PlannedEntry, planEntries } from './merge-rules.ts'
import { type Merge, WrittenEntries } from './write-entries.ts'

/** Sends a message to each entry of a merge. Refuses the whole only for faults that the entries share. */
export async function mergeMail(
  context: RequestContext,
  services: SendServices,
  terms: SendingTerms,
  body: MergeBody,
): Promise<{ items: MergeItem[] }> {
  const { account } = terms
  const now = terms.now()
  requireSendable(account, body.entries)
  requireSendTime(body.sendAt, now)
  if (body.listId != null) requireListSend(services.links)
  const merge = await prepareMerge(context, services, terms, body)
  const { entries, errors } = planEntries(body, now)
  const allowed = await chooseEntries(context, merge, entries, errors)
  const target = contentTarget(context, services, account)
  const written = new WrittenEntries(merge, target)
  let mayBeAccepted = false
  try {
    await services.reach('content_write', merge.id)
    for (const [index, error] of await written.write(allowed, terms.sendsLeft ?? Infinity))
      errors.set(index, error)
    await services.reach('content_written', merge.id)
    mayBeAccepted = true
    const answer = await acceptEntries(context, services, account, { id: merge.id, body, written, errors })
    await services.reach('accepted', merge.id)
    return answer
  } catch (error) {
    // Content that is bound to an entry stays: the commit may have succeeded although it failed here.
    await written.discard({ mayBeAccepted })
    throw error
  }
}

/** Leaves out entries to suppressed addresses, so that nothing is written for them. */
async function chooseEntries(
  { db, tenantId }: RequestContext,
  { listId }: Merge,
  entries: readonly PlannedEntry[],
  errors: Map<number, EntryError>,
): Promise<PlannedEntry[]> {
  const suppressed = await findSuppressed(
    db,
    tenantId,
    listId,
    entries.map(({ to }) => to.address),
  )
  return entries.filter(({ index, to }) => {
    if (!suppressed.has(comparedAddress(to.address))) return true
    errors.set(index, entryError('suppressed'))
    return false
  })
}

/** Characters of HTML that are read for the tracking of a merge. The same HTML is read once. */
const TRACKED_LENGTH_MAX = 128 * 1024 * 1024

async function prepareMerge(
  context: RequestContext,
  services: SendServices,
  { account, signByDefault, signature }: SendingTerms,
  body: MergeBody,
): Promise<Merge> {
  const { tenantId } = context
  const { content, links } = services
  const { listId = null } = body
  const inSlices = services.slicesOf(tenantId)
  const template = await requireContentTemplate(context, services, account, body)
  const originals = await requireOriginals(content, account, body)
  const isRefreshed = await refreshIdentities(services.content, account)
  const known = isRefreshed ? undefined : signature
  const sender = await requireSender(context.db, account, body.from ?? null, known)
  const isSigned = body.sign ?? signByDefault
  const composing = { ...originals, sender, isSigned, kept: null }
  const shared = template ? body : { ...body, text: await textOf(body, inSlices) }
  const { attachments, ...composition } = await planComposition(content, account, shared, composing)
  // The HTML that a template renders is not known yet.
  const hasHtml = template ? (template.fields.html ?? '') !== '' : isTrackable(composition.html)
  const tracking = await requireTracking(context, services, account, { asked: body, hasHtml })
  const placesOf = placesFinder(TRACKED_LENGTH_MAX, inSlices)
  return {
    id: newId(),
    account,
    listId,
    templateId: template?.templateId ?? null,
    undoSendSeconds: body.undoSendSeconds ?? 0,
    composition,
    inSlices,
    files: await prepareFiles(attachments).catch(refuseContent),
    recipientOf: ({ to, outboxId }) =>
      listId === null ? null : listRecipient(links, { tenantId, listId, outboxId }, to),
    trackerOf: ({ outboxId }) => createSendTracker(services, account, tracking, { outboxId, placesOf }),
    render:
      template &&
      ((entries, budget) => renderContents(context, services, account, template, entries, budget)),
  }
}

/** The text of all messages: made from the HTML once, not for each of them. */
async function textOf({ text, html }: MergeBody, inSlices: InSlices): Promise<string | null> {
  if (text || !html) return text ?? null
  return inSlices(htmlToTextSteps(html))
}
