import { setTimeout as sleep } from 'node:timers/promises'
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
import { DRAFT_FIELD, readDraftMark } from '../../draft-mark.ts'
import { ProviderFailure } from '../../failure.ts'
import type { RemoteMessage } from '../../mail.ts'
import type { GraphApi } from '../api.ts'
import { readDraft } from '../draft-content.ts'
import { isIncomplete } from '../incomplete.ts'
import { messageSchema } from '../resources.ts'
import { addToFolder } from './add-message.ts'
import type { Effect } from './effect.ts'
import { findByMessageId, HEADER_QUERY, headerOf, messagesWithId, toFound, unlessGone } from './find.ts'
import { locationOf, pathOf } from './messages.ts'
import { removeForGood } from './move.ts'
import { type FoundRevisions, requireUnchanged, revisionsOf } from './remove-drafts.ts'

/*
 * Graph takes our header fields only when a message is made. New content of a draft is therefore another message: it is
 * made, and the former one is removed.
 */

/** The files of a draft are attached within this time. A later change is one of another client. */
const WRITING_MS_MAX = 300_000

/** Pauses before a draft that was just made is read again, since not every server of Exchange has it at once. */
const UNFOUND_PAUSES_MS = [100, 300, 1_000]

interface Generation {
  key: string
  folderId: string
  generation: number
  isIncomplete: boolean
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
  // It may have been moved since an earlier try made it.
  const found = mayExist ? await generationsOf(api, { ...namedBy(draft), mailboxKey: null }) : []
  return write(api, effect, draft, found)
}

/** `ChangingProvider.replaceDraft` on Graph. */
export async function replaceDraft(
  api: GraphApi,
  effect: Effect,
  draft: DraftReplacement,
): Promise<DraftOutcome> {
  const { mailboxKey, mark, former, others } = draft
  const before = withoutCopies(await generationsOf(api, namedBy(draft)), draft)
  if (before.some(({ generation }) => generation > mark.generation))
    throw new ProviderFailure('conflict', 'The draft was replaced meanwhile.')
  const kept = completeOf(before) ?? before[0]
  const older = before.filter(
    one => one.generation < mark.generation && (!kept || one === kept || isSuperseded(one, kept)),
  )
  const replaced = new Map([
    ...older.map(({ key, revision }) => [key, revision] as const),
    ...revisionsOf(former, others),
  ])
  const requireSame = () => requireReplaceable(api, mailboxKey, replaced, former)
  await requireSame()
  const added = await write(api, effect, draft, before)
  // That proves no loss: Exchange may not find a message yet that was just made.
  if (added.message === null)
    throw new ProviderFailure('unavailable', 'Exchange claims to have taken the draft, but does not find it.')
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
  const { mailboxKey } = draft
  // Another client may have moved the draft since its content was replaced.
  const found = await generationsOf(api, { ...draft, mailboxKey: null })
  const kept = completeOf(found)
  if (!kept) return { kept: null, removed: [] }
  const others = withoutCopies(
    found.filter(one => one !== kept && (one.isIncomplete || one.generation < kept.generation)),
    draft,
  )
  const isLeftOver = (one: Generation) => one.folderId === mailboxKey && isSuperseded(one, kept)
  const revisions = new Map(others.filter(isLeftOver).map(({ key, revision }) => [key, revision]))
  const { there: removed, unfound } = await requireUnchanged(api, mailboxKey, revisions)
  if (removed.length > 0) {
    const { failure } = await removeForGood(api, effect, removed)
    if (failure) throw failure
  }
  if (unfound.length > 0)
    throw new ProviderFailure('unavailable', 'Exchange lists a content of the draft, and does not find it.')
  const locationOfKept = locationOf(kept.folderId, kept.key)
  const left = others
    .filter(({ key }) => !removed.includes(key))
    .map(({ folderId, key }) => locationOf(folderId, key))
  return { kept: { location: locationOfKept, generation: kept.generation }, removed, left }
}

/**
 * Writes a draft. A draft that an earlier try has made is kept if it is complete, and otherwise removed once the new one
 * is there.
 * @param found messages of the draft, by earlier tries among others
 */
async function write(
  api: GraphApi,
  effect: Effect,
  { mailboxKey, message, mark }: NewDraft,
  found: readonly Generation[],
): Promise<AddedMessage> {
  const same = found.filter(({ generation }) => generation === mark.generation)
  const kept = completeOf(same)
  const { id: key, parentFolderId } = kept
    ? { id: kept.key, parentFolderId: kept.folderId }
    : await addToFolder(api, effect, mailboxKey, message)
  const remote = await readWritten(api, key)
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

async function readWritten(api: GraphApi, key: string): Promise<RemoteMessage | null> {
  for (const pauseMs of UNFOUND_PAUSES_MS) {
    const read = await readDraft(api, key)
    if (read) return read.message
    await sleep(pauseMs)
  }
  return (await readDraft(api, key))?.message ?? null
}

type Named = Pick<DraftSettling, 'internetMessageId' | 'draftId'> & { mailboxKey: string | null }

function namedBy({ mailboxKey, message: { internetMessageId }, mark: { draftId } }: NewDraft): Named {
  return { mailboxKey, internetMessageId, draftId }
}

/**
 * The messages of a draft, highest generation first.
 * @param named without a mailbox: wherever they are
 */
async function generationsOf(
  api: GraphApi,
  { mailboxKey, internetMessageId, draftId }: Named,
): Promise<Generation[]> {
  const found = await messagesWithId(api, mailboxKey, internetMessageId)
  return found
    .flatMap(message => {
      const mark = readDraftMark(headerOf(message, DRAFT_FIELD))
      if (mark?.draftId !== draftId || message.isDraft === false) return []
      const createdAt = message.createdDateTime ?? 0
      return {
        key: message.id,
        folderId: message.parentFolderId ?? mailboxKey ?? '',
        generation: mark.generation,
        isIncomplete: isIncomplete(message),
        revision: message['@odata.etag'] ?? null,
        createdAt,
        modifiedAt: message.lastModifiedDateTime ?? createdAt,
      }
    })
    .toSorted((a, b) => b.generation - a.generation)
}

/** The highest generation that has all its files. */
function completeOf(found: readonly Generation[]): Generation | undefined {
  return found.find(one => !one.isIncomplete)
}

/**
 * Whether a content is an earlier one than the kept one, or was never completed. It stays if another client has changed it
 * since: it may have words of its own.
 */
function isSuperseded(one: Generation, kept: Generation): boolean {
  if (one.generation < kept.generation) return one.modifiedAt <= kept.createdAt
  return one.isIncomplete && one !== kept && one.modifiedAt <= one.createdAt + WRITING_MS_MAX
}

function withoutCopies(
  found: readonly Generation[],
  { copies }: Pick<DraftSettling, 'copies'>,
): Generation[] {
  return found.filter(({ key }) => !copies.some(copy => copy.key === key))
}
