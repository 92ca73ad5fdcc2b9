import type { DraftRemoval, FormerContent, FoundMessage } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { GraphApi } from '../api.ts'
import type { Effect } from './effect.ts'
import { batchesOf, readStates } from './messages.ts'
import { findRecoverable, removeForGood } from './move.ts'

/*
 * Exchange takes no condition with `permanentDelete`, so the revisions of drafts are compared just before they are
 * removed.
 */

/** Revisions of drafts as they were found, by key; null if one is not known. */
export type FoundRevisions = ReadonlyMap<string, string | null>

export function revisionsOf(
  former: FormerContent | null,
  others: ReadonlyArray<Pick<FoundMessage, 'location' | 'revision'>>,
): Map<string, string | null> {
  const revisions = new Map(others.map(({ location, revision }) => [String(location.key), revision]))
  if (former) revisions.set(String(former.key), former.revision ?? null)
  return revisions
}

/** `ChangingProvider.removeDraft` on Graph. */
export async function removeDraft(
  api: GraphApi,
  effect: Effect,
  { mailboxKey, former, others }: DraftRemoval,
): Promise<void> {
  const known = revisionsOf(former, others)
  const { there, elsewhere, unfound } = await requireUnchanged(api, mailboxKey, known)
  if (former && elsewhere.includes(String(former.key)))
    throw new ProviderFailure('not_found', 'The draft was moved or sent meanwhile.')
  // A draft with a revision was found a moment ago. Exchange may not find one yet that was just made.
  if (unfound.some(key => (known.get(key) ?? null) !== null))
    throw new ProviderFailure('unavailable', 'Exchange does not find the draft that it just had.')
  if (there.length === 0) return
  const { failure } = await removeForGood(api, effect, there)
  if (failure) throw failure
}

/**
 * Fails with `conflict` if another client has changed one of the drafts since it was found. Deleted drafts that can only be
 * recovered are in no result.
 * @returns the keys of the drafts that are still in the folder, of those that were moved or sent, which are no part of
 *   the draft any more, and of those that Exchange does not find
 */
export async function requireUnchanged(
  api: GraphApi,
  folderId: string,
  found: FoundRevisions,
): Promise<{ there: string[]; elsewhere: string[]; unfound: string[] }> {
  const there: string[] = []
  const elsewhere: Array<{ key: string; parentFolderId?: string | null | undefined }> = []
  const unfound: string[] = []
  for (const keys of batchesOf({ keys: [...found.keys()] })) {
    const { states, gone } = await readStates(api, keys)
    unfound.push(...gone)
    for (const { key, value } of states) {
      const revision = found.get(key) ?? null
      if (value.isDraft !== true || value.parentFolderId !== folderId) elsewhere.push({ ...value, key })
      else if (revision !== null && value['@odata.etag'] !== revision)
        throw new ProviderFailure('conflict', 'Another client has changed the draft meanwhile.')
      else there.push(key)
    }
  }
  const recoverableId = elsewhere.length === 0 ? null : await findRecoverable(api)
  const moved = elsewhere.filter(
    ({ parentFolderId }) => recoverableId === null || parentFolderId !== recoverableId,
  )
  return { there, elsewhere: moved.map(({ key }) => key), unfound }
}
