import { DRAFT_FIELD, readDraftMark } from '../../../providers/draft-mark.ts'
import type { FormerContent, FoundMessage } from '../../../providers/changing.ts'
import type { Location } from '../../../providers/content.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import { changeAtProvider, refuseGone } from '../../mail/at-provider.ts'
import { findLocation, listDraftCopies } from '../../mail/messages/location.ts'
import { listPlacedMailboxes } from '../../mail/mailboxes/store.ts'
import { presentEtag } from '../../mail/messages/present.ts'
import { recordEdited } from '../../mail/messages/record-edited.ts'
import type { PlacedMailbox } from '../../mail/messages/rules.ts'
import { findMessage, type FullRow } from '../../mail/messages/store.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { readOwnFields } from '../compose/original.ts'
import type { ThreadFields } from '../compose/rules.ts'
import type { DraftServices } from './services.ts'
import type { FoundDraft } from './access.ts'
import { type DraftLook, isAt, knownDraft, lookAtDraft } from './look.ts'
import { CHANGED } from './record-change.ts'
import { keptThreading, matches } from './rules.ts'

/** A draft as the provider has it now. */
export interface CurrentDraft {
  /** As the index has it now. */
  draft: FullRow
  /**
   * The location of the draft by the index; null if it is not known, or another client has replaced the draft since by
   * a message of its own.
   */
  former: (Location & FormerContent) | null
  draftKey: string | null
  /** Contents that other clients have given it since. */
  others: readonly FoundMessage[]
  /** Locations of copies of the draft that other clients made. */
  copies: readonly Location[]
  threading: ReturnType<typeof keptThreading>
}

/**
 * Reads a draft that is to be changed from the provider. Changes that the sync has not seen yet count: with `If-Match`,
 * a draft that another client has changed is refused, and without it, that client's content is replaced.
 */
export async function requireCurrent(
  context: RequestContext,
  services: DraftServices,
  given: FoundDraft,
): Promise<CurrentDraft> {
  const { account } = given
  const former = await findLocation(context.db, account.id, given.draft.id)
  const { found, itself, copies, draft } = await findContents(context, services, given, former)
  const { draft_key: draftKey } = draft
  if (former && itself) {
    const read = { ...former, revision: itself.revision }
    return { draft, former: read, draftKey, others: [], copies, threading: keptThreading(fieldsOf(itself)) }
  }
  const others = found.filter(isForeign)
  // Without anything that can be searched for, its number alone shows whether the draft is there.
  const isFindable = draftKey !== null || draft.internet_message_id !== null
  if (draft.is_kept || (former && !isFindable)) {
    const fields = await readOwnFields(services.content, account, draft)
    return { draft, former, draftKey, others, copies, threading: keptThreading(fields) }
  }
  if (former && context.ifMatch !== null) await refuseChanged(context, account.id)
  const [newest] = found
  if (!newest) return refuseGone(context, account)
  return {
    draft,
    former: draftKey === null ? null : former,
    draftKey,
    others,
    copies,
    threading: keptThreading(fieldsOf(newest)),
  }
}

/** Refuses a draft that another client has changed, and lets the sync see that. */
export async function refuseChanged(context: RequestContext, accountId: string): Promise<never> {
  await context.step(async unit => unit.wake(accountId))
  return refuse('provider_conflict', undefined, CHANGED)
}

const isForeign = ({ fields }: FoundMessage) => readDraftMark(fields.get(DRAFT_FIELD)) === null

function fieldsOf({ fields }: FoundMessage): Pick<ThreadFields, 'references' | 'inReplyTo'> {
  return { references: fields.get('References') ?? null, inReplyTo: fields.get('In-Reply-To') ?? null }
}

/** The contents that the provider has of a draft, without `copies` that other clients made of it. */
export interface DraftContents extends Omit<DraftLook, 'edited'> {
  copies: Location[]
  /** As the index has it now. */
  draft: FullRow
}

/**
 * Finds all contents that the provider has of a draft. If another client has changed the draft under its key, the index
 * takes that over, and with `If-Match` the draft is refused.
 */
export async function findContents(
  context: RequestContext,
  { connections }: DraftServices,
  { account, draft }: FoundDraft,
  former: Location | null,
): Promise<DraftContents> {
  const mailbox = await requireOwnMailbox(context, { account, draft })
  const known = knownDraft(draft, mailbox.key, former)
  const { found, itself, edited } = await changeAtProvider(context, account, () =>
    connections.use(
      reachedAs(account),
      'changing',
      provider => lookAtDraft(provider, known, draft, [DRAFT_FIELD, 'References', 'In-Reply-To']),
      { isRepeatable: true },
    ),
  )
  const of = { draftId: draft.draft_id, exceptId: draft.id }
  const copies = await listDraftCopies(context.db, account.id, of)
  const own = found.filter(message => !copies.some(copy => isAt(message, copy)))
  if (!edited || !former) return { found: own, itself, copies, draft }
  const { source } = former
  await context.step(unit => recordEdited(unit, account.id, { messageId: draft.id, source, message: edited }))
  const seen = (await findMessage(context.db, account.id, draft.id)) ?? refuse('draft_not_found')
  if (!matches(context.ifMatch, presentEtag(seen))) await refuseChanged(context, account.id)
  return { found: own, itself, copies, draft: seen }
}

/** The mailbox that a draft is in. */
export async function requireOwnMailbox(
  { db }: RequestContext,
  { account, draft }: FoundDraft,
): Promise<PlacedMailbox> {
  const placed = await listPlacedMailboxes(db, account.id)
  return placed.find(({ id }) => draft.mailbox_ids.includes(id)) ?? refuse('draft_not_found')
}
