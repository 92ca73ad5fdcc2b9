import type {
  AddedMessage,
  DraftOutcome,
  DraftRemoval,
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
import { MESSAGE_QUERY, toRemoteMessage } from '../message.ts'
import { messageSchema } from '../resources.ts'
import { addToFolder } from './add-message.ts'
import type { Effect } from './effect.ts'
import { findByMessageId, unlessGone } from './find.ts'
import { locationOf, pathOf } from './messages.ts'
import { removeForGood } from './move.ts'

/*
 * Graph takes our header fields only when a message is made. New content of a draft is therefore another message: it is
 * made, and the former one is removed.
 */

interface Generation {
  key: string
  folderId: string
  generation: number
}

const READ_BYTES_MAX = 8 * 1024 * 1024

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
  const { mark, former, others } = draft
  const before = withoutCopies(await findGenerations(api, draft), draft)
  if (before.some(({ generation }) => generation > mark.generation))
    throw new ProviderFailure('conflict', 'The draft was replaced meanwhile.')
  const added = await write(api, effect, draft, before)
  if (added.message === null) {
    const isFormerThere = former !== null && (await read(api, String(former.key))) !== null
    if (!isFormerThere) return { type: 'lost' }
    throw new ProviderFailure('unavailable', 'Exchange claims to have taken the draft, but does not have it.')
  }
  const older = before.filter(({ generation }) => generation < mark.generation).map(({ key }) => key)
  const keys = new Set([
    ...older,
    ...(former ? [String(former.key)] : []),
    ...others.map(({ key }) => String(key)),
  ])
  keys.delete(String(added.location?.key))
  return { type: 'replaced', added, isSettled: await areRemoved(api, effect, [...keys]) }
}

/** Removes contents that the new one replaced. A failure leaves them: the draft is safe. */
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
  { mailboxKey, internetMessageId }: KnownDraft,
  fields: readonly string[],
): Promise<FoundMessage[]> {
  return internetMessageId === null ? [] : findByMessageId(api, mailboxKey, internetMessageId, fields)
}

/** `ChangingProvider.removeDraft` on Graph. */
export async function removeDraft(
  api: GraphApi,
  effect: Effect,
  { former, others }: DraftRemoval,
): Promise<void> {
  const keys = new Set([...(former ? [former.key] : []), ...others.map(({ key }) => key)].map(String))
  if (keys.size === 0) return
  const { failure } = await removeForGood(api, effect, [...keys])
  if (failure) throw failure
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
    found.filter(({ generation }) => generation < kept.generation),
    draft,
  ).map(({ key }) => key)
  if (older.length > 0) {
    const { failure } = await removeForGood(api, effect, older)
    if (failure) throw failure
  }
  return {
    kept: { location: locationOf(kept.folderId, kept.key), generation: kept.generation },
    removed: older,
  }
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
  const remote = await read(api, key)
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

/** The message as Exchange describes it; null if it is gone. */
async function read(api: GraphApi, key: string) {
  const answer = await unlessGone(
    api.ask({
      path: pathOf(key),
      query: MESSAGE_QUERY,
      schema: messageSchema,
      accepts: [200],
      answerBytesMax: READ_BYTES_MAX,
    }),
  )
  return answer && toRemoteMessage(answer.value)
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
  const found = await findByMessageId(api, mailboxKey, internetMessageId, [DRAFT_FIELD])
  return found
    .flatMap(({ location, fields }) => {
      const mark = readDraftMark(fields.get(DRAFT_FIELD))
      const { key, source: folderId } = location
      return mark?.draftId === draftId ? [{ key: String(key), folderId, generation: mark.generation }] : []
    })
    .toSorted((a, b) => b.generation - a.generation)
}

function withoutCopies(
  found: readonly Generation[],
  { copies }: Pick<DraftSettling, 'copies'>,
): Generation[] {
  return found.filter(({ key }) => !copies.some(copy => copy.key === key))
}
