import type { MessageSet, MovedBatch, MovedMessage, RemovedBatch } from '../../changing.ts'
import type { GraphApi, GraphRequest } from '../api.ts'
import { requestOfFolder } from '../folders.ts'
import { ignoredSchema } from '../resources.ts'
import { changingInBatches, type Effect } from './effect.ts'
import { unlessGone } from './find.ts'
import {
  batchesOf,
  CHANGED_BYTES_MAX,
  locationOf,
  numbersOf,
  pathOf,
  readStates,
  sortOut,
  type TaggedState,
  taggedSchema,
} from './messages.ts'

/** `ChangingProvider.move` on Graph, where ids stay while messages move. */
export function moveMessages(
  api: GraphApi,
  at: MessageSet,
  targetKey: string,
): AsyncGenerator<MovedBatch, void, void> {
  return changingInBatches(api, async function* (effect) {
    // The answer to a move says only that something is not there, not what.
    await api.ask(requestOfFolder(targetKey))
    for (const keys of batchesOf(at)) {
      const before = await readStates(api, keys)
      const there = before.states.filter(({ value }) => value.parentFolderId === targetKey)
      const asked = before.states.flatMap(({ key, value }) =>
        value.parentFolderId === targetKey ? [] : [key],
      )
      const outcomes = await effect.askAll(asked.map(key => moving(key, targetKey)))
      const { done, gone, failures } = sortOut(asked, outcomes)
      const order = new Map(keys.map((key, index) => [key, index]))
      yield {
        moved: [...there, ...done]
          .toSorted((a, b) => order.get(a.key)! - order.get(b.key)!)
          .map(({ key, value }) => toMoved(key, value, targetKey)),
        gone: [...before.gone, ...gone],
      }
      if (failures[0]) throw failures[0].failure
    }
    const gone = numbersOf(at)
    if (gone.length > 0) yield { moved: [], gone }
  })
}

function toMoved(key: string, { id, parentFolderId }: TaggedState, targetKey: string): MovedMessage {
  const folderId = parentFolderId ?? targetKey
  return { key, location: locationOf(folderId, id), mailboxKeys: [folderId] }
}

function moving(key: string, destinationId: string): GraphRequest<TaggedState> {
  return {
    method: 'POST',
    path: `${pathOf(key)}/move`,
    json: { destinationId },
    schema: taggedSchema,
    accepts: [200, 201],
    answerBytesMax: CHANGED_BYTES_MAX,
  }
}

/** `ChangingProvider.remove` on Graph. */
export function removeMessages(api: GraphApi, at: MessageSet): AsyncGenerator<RemovedBatch, void, void> {
  return changingInBatches(api, async function* (effect) {
    for (const keys of batchesOf(at)) {
      const { removed, gone, failure } = await removeForGood(api, effect, keys)
      yield { removed, gone }
      if (failure) throw failure
    }
    const gone = numbersOf(at)
    if (gone.length > 0) yield { removed: [], gone }
  })
}

/** Where Exchange keeps messages that were removed from the deleted items. No client shows that folder. */
const RECOVERABLE = 'recoverableitemsdeletions'

/** The id of that folder; null if the mailbox has none. */
export async function findRecoverable(api: GraphApi): Promise<string | null> {
  return (await unlessGone(api.ask(requestOfFolder(RECOVERABLE))))?.value.id ?? null
}

/**
 * Removes messages so that they are in no folder that their user sees. Without `permanentDelete` they are moved to where a
 * deletion from the deleted items would bring them: in one step, since a message in the deleted items can be taken for one
 * that its user has put there.
 */
export async function removeForGood(api: GraphApi, effect: Effect, keys: readonly string[]) {
  if (api.cloud.has.permanentDelete)
    return toRemoved(sortOut(keys, await effect.askEach(keys.map(permanentlyDeleting))))
  const moved = sortOut(keys, await effect.askAll(keys.map(key => moving(key, RECOVERABLE))))
  // The answer to a move says only that something is not there: it may be the folder.
  const refused = [...moved.gone, ...moved.failures.filter(isRefusal).map(({ key }) => key)]
  if (refused.length === 0) return toRemoved(moved)
  const twice = await deleteTwice(effect, refused)
  const failures = [...moved.failures.filter(failed => !isRefusal(failed)), ...twice.failures]
  return toRemoved({ done: [...moved.done, ...twice.done], gone: twice.gone, failures })
}

type SortedOut = ReturnType<typeof sortOut<unknown>>

function toRemoved({ done, gone, failures }: SortedOut) {
  return { removed: done.map(({ key }) => key), gone, failure: failures[0]?.failure ?? null }
}

function isRefusal({ failure }: SortedOut['failures'][number]): boolean {
  return failure.kind === 'rejected' || failure.kind === 'forbidden'
}

/** Deletes messages to the deleted items, and there. */
async function deleteTwice(effect: Effect, keys: readonly string[]): Promise<SortedOut> {
  const once = sortOut(keys, await effect.askEach(keys.map(deleting)))
  const deleted = once.done.map(({ key }) => key)
  const again = sortOut(deleted, await effect.askEach(deleted.map(deleting)))
  const failures = [...once.failures, ...again.failures]
  const failed = new Set(again.failures.map(({ key }) => key))
  return { done: once.done.filter(({ key }) => !failed.has(key)), gone: once.gone, failures }
}

function permanentlyDeleting(key: string): GraphRequest<unknown> {
  return {
    method: 'POST',
    path: `${pathOf(key)}/permanentDelete`,
    schema: ignoredSchema,
    accepts: [200, 204],
  }
}

function deleting(key: string): GraphRequest<unknown> {
  return { method: 'DELETE', path: pathOf(key), schema: ignoredSchema, accepts: [204] }
}
