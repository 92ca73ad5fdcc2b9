import type {
  AddedMessage,
  DraftOutcome,
  DraftRemoval,
  DraftReplacement,
  DraftSettling,
  FoundMessage,
  KnownDraft,
  NewDraft,
  NewLocation,
  SettledDraft,
} from '../../changing.ts'
import { DRAFT_FIELD, readDraftMark } from '../../draft-mark.ts'
import { ProviderFailure } from '../../failure.ts'
import type { MessageKey } from '../../mail.ts'
import { readCursor } from '../cursor.ts'
import type { TrackedMailboxes } from '../follow.ts'
import { searchPresent } from '../search.ts'
import { appendMessage } from './append.ts'
import type { Effect } from './effect.ts'
import { findByMessageId, type FoundUid } from './find.ts'
import { openForReading, openSource, uidsOf } from './open-source.ts'
import { removeFromOpen } from './remove.ts'
import { requireReadable, withoutOthers } from './without-others.ts'

interface Generation extends FoundUid {
  generation: number
}

/** `ChangingProvider.addDraft` on IMAP. */
export async function addDraft(
  tracked: TrackedMailboxes,
  effect: Effect,
  draft: NewDraft,
): Promise<AddedMessage> {
  const same = (await findGenerations(tracked, draft)).find(
    ({ generation }) => generation === draft.mark.generation,
  )
  return same ? toAdded(draft, same.location) : appendDraft(tracked, effect, draft)
}

/**
 * `ChangingProvider.replaceDraft` on IMAP, where no message can be changed: APPEND, a look whether it is there, and the
 * removal of the old one.
 */
export async function replaceDraft(
  tracked: TrackedMailboxes,
  effect: Effect,
  draft: DraftReplacement,
): Promise<DraftOutcome> {
  const { generation } = draft.mark
  const before = withoutCopies(await findGenerations(tracked, draft), draft)
  if (before.some(found => found.generation > generation))
    throw new ProviderFailure('conflict', 'The draft was replaced meanwhile.')
  const same = before.find(found => found.generation === generation)
  const added = same ? toAdded(draft, same.location) : await appendDraft(tracked, effect, draft)
  if (!same && !(await isThere(tracked, draft, added))) {
    const isFormerThere =
      withoutCopies(await findGenerations(tracked, draft), draft).length > 0 ||
      (await hasFormer(tracked, draft))
    if (!isFormerThere) return { type: 'lost' }
    throw new ProviderFailure(
      'unavailable',
      'The server claims to have taken the draft, but does not have it.',
    )
  }
  let isSettled = true
  try {
    await removeFormer(tracked, effect, draft, before)
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    isSettled = false
  }
  await removeFound(
    tracked,
    effect,
    draft.others.map(({ location }) => location),
  )
  return { type: 'replaced', added, isSettled }
}

/** `ChangingProvider.findDraft` on IMAP. */
export async function findDraft(
  tracked: TrackedMailboxes,
  { mailboxKey, internetMessageId }: KnownDraft,
  fields: readonly string[],
): Promise<FoundMessage[]> {
  return internetMessageId === null ? [] : findByMessageId(tracked, mailboxKey, internetMessageId, fields)
}

/** `ChangingProvider.removeDraft` on IMAP. */
export async function removeDraft(
  tracked: TrackedMailboxes,
  effect: Effect,
  { former, others }: DraftRemoval,
): Promise<void> {
  if (former) await removeKnown(tracked, effect, former)
  await removeFound(
    tracked,
    effect,
    others.map(({ location }) => location),
  )
}

/** Removes the content that the index has, unless another message has its number by now. */
async function removeKnown(
  tracked: TrackedMailboxes,
  effect: Effect,
  former: NonNullable<DraftRemoval['former']>,
): Promise<void> {
  await openSource(tracked, former)
  const { source, key, known } = former
  const at = known ? { source, known: new Map([[key, known]]) } : { source }
  const { uids, unreadableCount } = await withoutOthers(tracked, at, uidsOf([key]), { isExact: true })
  requireReadable(unreadableCount)
  await removeFromOpen(tracked.connection, effect, uids)
}

/** Removes messages that were found together, unless another mailbox has the name of theirs by now. */
async function removeFound(
  tracked: TrackedMailboxes,
  effect: Effect,
  found: readonly NewLocation[],
): Promise<void> {
  const [first] = found
  if (!first) return
  await openSource(tracked, { source: first.source, cursor: first.firstCursor })
  await removeFromOpen(tracked.connection, effect, uidsOf(found.map(({ key }) => key)))
}

/** `ChangingProvider.settleDraft` on IMAP. */
export async function settleDraft(
  tracked: TrackedMailboxes,
  effect: Effect,
  draft: DraftSettling,
): Promise<SettledDraft> {
  const found = await generationsOf(tracked, draft)
  const [kept] = found
  if (!kept) return { kept: null, removed: [] }
  const older = found.filter(({ generation }) => generation < kept.generation)
  const locations = withoutCopies(older, draft).map(({ location }) => location)
  await removeFound(tracked, effect, locations)
  const removed = uidsOf(locations.map(({ key }) => key))
  return { kept: { location: kept.location, generation: kept.generation }, removed }
}

function findGenerations(tracked: TrackedMailboxes, { mailboxKey, message, mark }: NewDraft) {
  return generationsOf(tracked, {
    mailboxKey,
    internetMessageId: message.internetMessageId,
    draftId: mark.draftId,
  })
}

/** The messages of a draft, highest generation first; of one generation, the newest first. */
async function generationsOf(
  tracked: TrackedMailboxes,
  draft: Omit<DraftSettling, 'copies'>,
): Promise<Generation[]> {
  const found = await findByMessageId(tracked, draft.mailboxKey, draft.internetMessageId, [DRAFT_FIELD])
  return found
    .flatMap(message => {
      const mark = readDraftMark(message.fields.get(DRAFT_FIELD))
      return mark?.draftId === draft.draftId ? [{ ...message, generation: mark.generation }] : []
    })
    .toSorted((a, b) => b.generation - a.generation || b.uid - a.uid)
}

function withoutCopies(
  found: readonly Generation[],
  { copies }: Pick<DraftSettling, 'copies'>,
): Generation[] {
  return found.filter(
    ({ location }) =>
      !copies.some(
        ({ source, key, cursor }) =>
          location.source === source && location.key === key && location.isValidUnder(cursor),
      ),
  )
}

function appendDraft(tracked: TrackedMailboxes, effect: Effect, { mailboxKey, message }: NewDraft) {
  return appendMessage(tracked, effect, mailboxKey, message)
}

function toAdded({ mailboxKey }: NewDraft, location: NewLocation): AddedMessage {
  return { location, mailboxKeys: [mailboxKey], draftKey: null, threadId: null, message: null }
}

/** Whether the server has the message that it claims to have taken. */
async function isThere(
  tracked: TrackedMailboxes,
  draft: NewDraft,
  { location }: AddedMessage,
): Promise<boolean> {
  if (location) {
    await openForReading(tracked, draft.mailboxKey)
    return (await searchPresent(tracked.connection, [Number(location.key)])).length > 0
  }
  const found = await findGenerations(tracked, draft)
  return found.some(({ generation }) => generation === draft.mark.generation)
}

async function hasFormer(
  tracked: TrackedMailboxes,
  { former }: Pick<DraftReplacement, 'former'>,
): Promise<boolean> {
  const uid = uidOf(former?.key)
  if (!former || uid === null) return false
  const { uidValidity } = await openForReading(tracked, former.source)
  if (readCursor(former.cursor)?.uidValidity !== uidValidity) return false
  return (await searchPresent(tracked.connection, [uid])).length > 0
}

/** Removes the contents that the new one replaced: the lower generations, and the message that the index has. */
async function removeFormer(
  tracked: TrackedMailboxes,
  effect: Effect,
  { mark, former }: DraftReplacement,
  before: readonly Generation[],
): Promise<void> {
  const older = before.filter(({ generation }) => generation < mark.generation)
  const uid = uidOf(former?.key)
  const isNew = before.some(found => found.generation === mark.generation && found.uid === uid)
  if (former && uid !== null && !isNew && !older.some(found => found.uid === uid)) {
    if (await hasFormer(tracked, { former })) await removeKnown(tracked, effect, former)
  }
  await removeFound(
    tracked,
    effect,
    older.map(({ location }) => location),
  )
}

function uidOf(key: MessageKey | undefined): number | null {
  return typeof key === 'number' ? key : null
}
