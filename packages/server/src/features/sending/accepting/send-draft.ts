import { sql } from 'kysely'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { DraftSendBody } from '@waxwing/contract/sending/send-body.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { newId } from '../../../kit/ids.ts'
import { readIds } from '../../../kit/mime/message-ids.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { openSource } from '../../mail/content/source.ts'
import { requireSender, type Sender } from '../../mail/identities/access.ts'
import { refreshIdentities } from '../../mail/identities/refresh.ts'
import { listOwnAddresses } from '../../mail/identities/store.ts'
import { presentEtag } from '../../mail/messages/present.ts'
import { refuse } from '../../../calls/refuse.ts'
import { type ForeignDraft, prepareForeignDraft } from '../compose/foreign-draft.ts'
import { readOwnFields } from '../compose/original.ts'
import { newInternetMessageId } from '../compose/rules.ts'
import { createSendTracker, requireTracked, requireTracking } from '../tracking/track-send.ts'
import { acceptSend, requireSendable, requireSendTime } from './accept.ts'
import { readClock } from '../outbox/store.ts'
import { requireListSend } from '../suppressions/access.ts'
import { unsubscribeUrl } from '../suppressions/unsubscribe-link.ts'
import type { FoundDraft } from '../drafts/access.ts'
import { type CurrentDraft, findContents, requireCurrent } from '../drafts/current.ts'
import { refuseOvertaken, untilNotOvertaken } from '../drafts/overtaken.ts'
import { CHANGED } from '../drafts/record-change.ts'
import { matches } from '../drafts/rules.ts'
import type { DraftServices } from '../drafts/services.ts'

/** Accepts the current content of a draft. It is sent as it is, no matter which program wrote it. */
export function sendDraft(
  context: RequestContext,
  services: DraftServices,
  found: FoundDraft,
  body: DraftSendBody,
): Promise<OutboxEntry> {
  return untilNotOvertaken(context, () => sendOnce(context, services, found, body))
}

async function sendOnce(
  context: RequestContext,
  services: DraftServices,
  { account, draft: found }: FoundDraft,
  body: DraftSendBody,
): Promise<OutboxEntry> {
  if (!matches(context.ifMatch, presentEtag(found))) refuse('provider_conflict', undefined, CHANGED)
  if (body.sendAt) requireSendTime(body.sendAt, await readClock(context.db))
  await requireNothingQueued({ sql: context.db }, found.id, null)
  // A connection that is open may still show a draft that another client has replaced.
  const current = found.is_kept ? null : await requireCurrent(context, services, { account, draft: found })
  const draft = current?.draft ?? found
  const recipients = [...draft.to, ...draft.cc, ...draft.bcc]
  requireSendable(account, recipients)
  await refreshIdentities(services.content, account)
  const sender = await requireSender(context.db, account, draft.from)
  const id = newId()
  const internetMessageId = newInternetMessageId(id, sender.address)
  const { content } = services
  const { listId = null } = body
  const unsubscribeUrlOf = listId === null ? null : unsubscribing(context, services, { listId, outboxId: id })
  const tracking = await requireTracking(context, services, account, { asked: body, hasHtml: true })
  const tracker = createSendTracker(services, account, tracking, { outboxId: id })
  const { wireHtml } = tracker
  const prepared = await prepareForeignDraft(
    async function* open() {
      yield* await openSource(content, account, draft)
    },
    {
      internetMessageId,
      outboxId: id,
      unsubscribeUrlOf,
      wireHtml,
      date: new Date(),
      from: sender,
      ownAddresses: await listOwnAddresses(context.db, account),
    },
  )
  if (!prepared) return refuse('provider_rejected', undefined, UNSENDABLE)
  if (listId !== null && prepared.hasUnsubscribing) refuse('invalid_input', { issues: [UNSUBSCRIBABLE] })
  requireTracked(tracker, body)
  const from = await requireReadable(context, prepared, { account, draft }, sender)
  const { to, cc, bcc, replyTo } = prepared.people
  return acceptSend(
    context,
    services,
    account,
    {
      id,
      internetMessageId,
      from,
      to,
      cc,
      bcc,
      replyTo,
      subject: draft.subject ?? '',
      importance: draft.importance === 'normal' ? null : draft.importance,
      inReplyTo: await findReplied(context, services, { account, draft }),
      threadId: draft.thread_id,
      forwardOf: null,
      draftId: draft.id,
      draftVersion: draft.content_version,
      templateId: null,
      listId,
      mailMergeId: null,
      tracking: tracker.result(),
      content: {
        layout: prepared.layout,
        byteLength: null,
        text: draft.snippet,
        hasAttachments: draft.has_attachments,
        async *open() {
          yield* prepared.open()
          await requireAsFound(context, services, { account, draft }, current?.former ?? null)
        },
      },
      options: body,
    },
    {
      also: async unit => {
        await requireUntouched(unit, draft, context.ifMatch)
        await requireNothingQueued(unit, draft.id, id)
      },
    },
  )
}

const UNSUBSCRIBABLE = {
  path: ['listId'],
  message: 'must not be given for a draft that has a field List-Unsubscribe of its own',
}

/** Returns the function that makes the link of the one recipient. It refuses a draft to others. */
function unsubscribing(
  { tenantId }: RequestContext,
  { links }: DraftServices,
  of: { listId: string; outboxId: string },
): (people: ForeignDraft['people']) => string {
  return people => {
    requireListSend(links, people)
    return unsubscribeUrl(links, { ...of, tenantId, address: people.to[0]?.address ?? '' })
  }
}

const UNSENDABLE = {
  message:
    'The draft cannot be sent as it is: its header does not end, or something signed in it has lines that are too long.',
}

/** Refuses addresses that cannot be read, and authors who are not the account. */
async function requireReadable(
  context: RequestContext,
  { people, unreadable }: ForeignDraft,
  { account }: FoundDraft,
  sender: Sender,
) {
  const issues = unreadable.map(field => ({ path: [field], message: 'has an address that cannot be read' }))
  if (issues.length > 0) refuse('invalid_input', { issues })
  for (const author of people.from) await requireSender(context.db, account, author)
  return people.from[0] ?? { name: sender.name, address: sender.address }
}

/** Refuses content that another client has changed under its key while it was read: it may be of two drafts. */
async function requireAsFound(
  context: RequestContext,
  services: DraftServices,
  found: FoundDraft,
  former: CurrentDraft['former'],
): Promise<void> {
  const revision = former?.revision ?? null
  if (revision === null) return
  const { itself } = await findContents(context, services, found, former)
  if (itself?.revision !== revision) refuseOvertaken()
}

/** One send of a draft at a time. */
async function requireNothingQueued(
  { sql: db }: Pick<UnitOfWork, 'sql'> | { sql: RequestContext['db'] },
  draftId: string,
  own: string | null,
): Promise<void> {
  const { rows } = await sql`
    select from outbox where draft_id = ${draftId} and status in ('queued', 'sending')
      and id is distinct from ${own}::uuid limit 1
  `.execute(db)
  if (rows.length > 0)
    refuse('provider_conflict', undefined, {
      message: 'The draft is being sent already. Cancel that send first.',
    })
}

/** Holds the draft until the commit, so that of two sends at once the second sees the first. */
async function requireUntouched(
  unit: UnitOfWork,
  draft: FoundDraft['draft'],
  ifMatch: string | null,
): Promise<void> {
  const { rows } = await sql<{ content_version: number }>`
    select content_version from message where id = ${draft.id} for update
  `.execute(unit.sql)
  const version = rows[0]?.content_version
  if (ifMatch !== null && version !== draft.content_version) refuse('provider_conflict', undefined, CHANGED)
}

/** The message that the draft replies to, if the index has it. */
async function findReplied(
  { db }: RequestContext,
  { content }: DraftServices,
  { account, draft }: FoundDraft,
): Promise<string | null> {
  const [replied] = readIds((await readOwnFields(content, account, draft)).inReplyTo)
  if (replied === undefined) return null
  const { rows } = await sql<{ id: string }>`
    select id from message
    where account_id = ${account.id} and thread_id = ${draft.thread_id} and internet_message_id = ${replied} limit 1
  `.execute(db)
  return rows[0]?.id ?? null
}
