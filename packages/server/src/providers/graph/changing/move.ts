import type { MessageSet, MovedBatch, MovedMessage, RemovedBatch } from '../../changing.ts'
import type { GraphApi, GraphRequest } from '../api.ts'
import { requestOfFolder } from '../folders.ts'
import { ignoredSchema } from '../resources.ts'
import { changingInBatches, type Effect } from './effect.ts'
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

/**
 * Removes messages so that they are in no folder. Where a cloud cannot do that at once, a message that is deleted goes to
 * the deleted items first, and is removed by deleting it there.
 */
export async function removeForGood(api: GraphApi, effect: Effect, keys: readonly string[]) {
  const isAtOnce = api.cloud.has.permanentDelete
  const { done, gone, failures } = sortOut(
    keys,
    await effect.askEach(keys.map(isAtOnce ? permanentlyDeleting : deleting)),
  )
  const removed = done.map(({ key }) => key)
  if (!isAtOnce && removed.length > 0) {
    const again = sortOut(removed, await effect.askEach(removed.map(deleting)))
    failures.push(...again.failures)
    const failed = new Set(again.failures.map(({ key }) => key))
    return { removed: removed.filter(key => !failed.has(key)), gone, failure: failures[0]?.failure ?? null }
  }
  return { removed, gone, failure: failures[0]?.failure ?? null }
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
