import type {
  AddedMessage,
  DraftOutcome,
  DraftReplacement,
  DraftSettling,
  FoundMessage,
  KnownDraft,
  NewDraft,
  SettledDraft,
} from '../../changing.ts'
import { GRAPH_MIME_BYTES_MAX } from '../../content-limits.ts'
import { DRAFT_FIELD, readDraftMark } from '../../draft-mark.ts'
import { ProviderFailure } from '../../failure.ts'
import type { GraphApi } from '../api.ts'
import { readDraft } from '../draft-content.ts'
import { messageSchema } from '../resources.ts'
import { addToFolder } from './add-message.ts'
import type { Effect } from './effect.ts'
import { findByMessageId, HEADER_QUERY, headerOf, messagesWithId, toFound, unlessGone } from './find.ts'
import { locationOf, pathOf, readingState } from './messages.ts'
import { removeForGood } from './move.ts'
import { type FoundRevisions, requireUnchanged, revisionsOf } from './remove-drafts.ts'

/*
 * Graph takes our header fields only when a message is made. New content of a draft is therefore another message: it is
 * made, and the former one is removed.
 */

interface Generation {
  key: string
  folderId: string
  generation: number
  revision: string | null
  /** Milliseconds since 1970. */
  createdAt: number
  modifiedAt: number
}

/** `ChangingProvider.addDraft` on Graph. */
export async function addDraft(
  api: GraphApi,
  effect: Effect,
  draft: NewDraft,
  mayExist: boolean,
): Promise<AddedMessage> {
  const found = mayExist ? await findGenerations(api, draft) : []
  return write(api, effect, draft, found)
}

/** `ChangingProvider.replaceDraft` on Graph. */
export async function replaceDraft(
  api: GraphApi,
  effect: Effect,
  draft: DraftReplacement,
): Promise<DraftOutcome> {
  const { mailboxKey, mark, former, others } = draft
  const before = withoutCopies(await findGenerations(api, draft), draft)
  if (before.some(({ generation }) => generation > mark.generation))
    throw new ProviderFailure('conflict', 'The draft was replaced meanwhile.')
  const older = before.filter(
    one => one.generation < mark.generation && !isEditedSince(one, before[0] ?? one),
  )
  const replaced = new Map([
    ...older.map(({ key, revision }) => [key, revision] as const),
    ...revisionsOf(former, others),
  ])
  const requireSame = () => requireReplaceable(api, mailboxKey, replaced, former)
  await requireSame()
  const added = await write(api, effect, draft, before)
  if (added.message === null) {
    const isFormerThere = former !== null && (await isThere(api, String(former.key)))
    if (!isFormerThere) return { type: 'lost' }
    throw new ProviderFailure('unavailable', 'Exchange claims to have taken the draft, but does not have it.')
  }
  const key = String(added.location?.key)
  replaced.delete(key)
  try {
    const { there, unfound } = await requireSame()
    // Exchange may not find a draft yet that was just made, and that it lists.
    const isHidden = before.some(one => unfound.includes(one.key))
    const isSettled = (await areRemoved(api, effect, there)) && !isHidden
    return { type: 'replaced', added, isSettled }
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    // The draft is safe, and what it replaced is removed later.
    if (error.kind !== 'conflict') return { type: 'replaced', added, isSettled: false }
    // Everything that other clients have written stays, and the new content is removed.
    if (!before.some(one => one.key === key)) await areRemoved(api, effect, [key])
    throw error
  }
}

/**
 * The keys of contents that can be removed, and of those that are not found. Fails with `conflict` if another client has
 * changed, moved or sent one.
 */
async function requireReplaceable(
  api: GraphApi,
  folderId: string,
  replaced: FoundRevisions,
  former: DraftReplacement['former'],
): Promise<{ there: string[]; unfound: string[] }> {
  const { elsewhere, ...rest } = await requireUnchanged(api, folderId, replaced)
  if (former && elsewhere.includes(String(former.key)))
    throw new ProviderFailure('conflict', 'Another client has moved or sent the draft meanwhile.')
  return rest
}

/** Removes contents that the new one replaced. A failure leaves them. */
async function areRemoved(api: GraphApi, effect: Effect, keys: readonly string[]): Promise<boolean> {
  if (keys.length === 0) return true
  try {
    return (await removeForGood(api, effect, keys)).failure === null
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    return false
  }
}

/** `ChangingProvider.findDraft` on Graph. */
export async function findDraft(
  api: GraphApi,
  { mailboxKey, former, internetMessageId }: KnownDraft,
  fields: readonly string[],
): Promise<FoundMessage[]> {
  const found =
    internetMessageId === null ? [] : await findByMessageId(api, mailboxKey, internetMessageId, fields)
  if (former === null || found.some(({ location }) => location.key === former.key)) return found
  // Another client may have given it another Message-ID.
  const itself = await unlessGone(
    api.ask({
      path: pathOf(String(former.key)),
      query: HEADER_QUERY,
      schema: messageSchema,
      accepts: [200],
    }),
  )
  return itself?.value.parentFolderId === mailboxKey ? [toFound(itself.value, fields), ...found] : found
}

/** `ChangingProvider.settleDraft` on Graph. */
export async function settleDraft(
  api: GraphApi,
  effect: Effect,
  draft: DraftSettling,
): Promise<SettledDraft> {
  const found = await generationsOf(api, draft)
  const [kept] = found
  if (!kept) return { kept: null, removed: [] }
  const older = withoutCopies(
    found.filter(one => one.generation < kept.generation && !isEditedSince(one, kept)),
    draft,
  )
  const revisions = new Map(older.map(({ key, revision }) => [key, revision]))
  const { there: removed, unfound } = await requireUnchanged(api, draft.mailboxKey, revisions)
  if (removed.length > 0) {
    const { failure } = await removeForGood(api, effect, removed)
    if (failure) throw failure
  }
  if (unfound.length > 0)
    throw new ProviderFailure('unavailable', 'Exchange lists a content of the draft, and does not find it.')
  return { kept: { location: locationOf(kept.folderId, kept.key), generation: kept.generation }, removed }
}

/**
 * Writes a draft. A draft that an earlier try has made is kept, unless files were to be attached to it: these may be
 * missing. Then it is removed once the new one is there.
 * @param found messages of the draft, by earlier tries among others
 */
async function write(
  api: GraphApi,
  effect: Effect,
  { mailboxKey, message, mark }: NewDraft,
  found: readonly Generation[],
): Promise<AddedMessage> {
  const same = found.filter(({ generation }) => generation === mark.generation)
  const [kept] = message.byteLength > GRAPH_MIME_BYTES_MAX ? [] : same
  const { id: key, parentFolderId } = kept
    ? { id: kept.key, parentFolderId: kept.folderId }
    : await addToFolder(api, effect, mailboxKey, message)
  const remote = (await readDraft(api, key))?.message ?? null
  if (!kept && remote !== null && same.length > 0) {
    const keys = same.map(one => one.key)
    const { failure } = await removeForGood(api, effect, keys)
    if (failure) throw failure
  }
  const folderId = parentFolderId ?? mailboxKey
  return {
    location: locationOf(folderId, key),
    mailboxKeys: remote?.mailboxKeys ?? [folderId],
    draftKey: null,
    threadId: remote?.threadId ?? null,
    message: remote,
  }
}

async function isThere(api: GraphApi, key: string): Promise<boolean> {
  return (await unlessGone(api.ask(readingState(key)))) !== null
}

function findGenerations(api: GraphApi, { mailboxKey, message, mark }: NewDraft): Promise<Generation[]> {
  const { internetMessageId } = message
  return generationsOf(api, { mailboxKey, internetMessageId, draftId: mark.draftId })
}

/** The messages of a draft, highest generation first. */
async function generationsOf(
  api: GraphApi,
  { mailboxKey, internetMessageId, draftId }: Omit<DraftSettling, 'copies'>,
): Promise<Generation[]> {
  const found = await messagesWithId(api, mailboxKey, internetMessageId)
  return found
    .flatMap(message => {
      const mark = readDraftMark(headerOf(message, DRAFT_FIELD))
      if (mark?.draftId !== draftId) return []
      const createdAt = message.createdDateTime ?? 0
      return {
        key: message.id,
        folderId: message.parentFolderId ?? mailboxKey,
        generation: mark.generation,
        revision: message['@odata.etag'] ?? null,
        createdAt,
        modifiedAt: message.lastModifiedDateTime ?? createdAt,
      }
    })
    .toSorted((a, b) => b.generation - a.generation)
}

/** Whether another client has changed an earlier content since a later one was made: it may have words of its own. */
function isEditedSince(earlier: Generation, later: Generation): boolean {
  return earlier.generation < later.generation && earlier.modifiedAt > later.createdAt
}

function withoutCopies(
  found: readonly Generation[],
  { copies }: Pick<DraftSettling, 'copies'>,
): Generation[] {
  return found.filter(({ key }) => !copies.some(copy => copy.key === key))
}
