import type { ChangedBatch, ChangedMessage, FlagChange, MessageSet } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { GraphApi, GraphRequest } from '../api.ts'
import { changingInBatches, type Effect } from './effect.ts'
import {
  batchesOf,
  CHANGED_BYTES_MAX,
  numbersOf,
  pathOf,
  readStates,
  sortOut,
  type TaggedState,
  taggedSchema,
  toChanged,
} from './messages.ts'

/** A message that other clients keep changing meanwhile is tried again at most so often. */
const TRIES_MAX = 4

/**
 * `ChangingProvider.changeFlags` on Graph. The categories of a message are one list: they are read, and written under the
 * condition that nobody has changed the message since. Marks of answered and forwarded messages are left out.
 */
export function changeFlags(
  api: GraphApi,
  at: MessageSet,
  change: FlagChange,
): AsyncGenerator<ChangedBatch, void, void> {
  return changingInBatches(api, async function* (effect) {
    const plain = plainChange(change)
    const hasCategories = (change.addCategories?.length ?? 0) + (change.removeCategories?.length ?? 0) > 0
    const isEmpty = Object.keys(plain).length === 0
    if (!hasCategories && isEmpty && (change.isAnswered || change.isForwarded)) return
    for (const keys of batchesOf(at)) {
      if (hasCategories) yield* changeCategories(api, effect, keys, change, plain)
      else if (isEmpty) {
        const { states, gone } = await readStates(api, keys)
        yield { changed: states.map(({ value }) => toChanged(value)), gone }
      } else {
        const outcomes = await effect.askAll(keys.map(key => patching(key, plain)))
        const { done, gone, failures } = sortOut(keys, outcomes)
        yield { changed: done.map(({ value }) => toChanged(value)), gone }
        if (failures[0]) throw failures[0].failure
      }
    }
    const gone = numbersOf(at)
    if (gone.length > 0) yield { changed: [], gone }
  })
}

interface Patch {
  isRead?: boolean
  flag?: { flagStatus: 'flagged' | 'notFlagged' }
  categories?: string[]
}

function plainChange({ isRead, isFlagged }: FlagChange): Patch {
  return {
    ...(isRead !== undefined && { isRead }),
    ...(isFlagged !== undefined && { flag: { flagStatus: isFlagged ? 'flagged' : 'notFlagged' } }),
  }
}

function patching(key: string, json: Patch, etag?: string): GraphRequest<TaggedState> {
  return {
    method: 'PATCH',
    path: pathOf(key),
    json,
    schema: taggedSchema,
    accepts: [200],
    answerBytesMax: CHANGED_BYTES_MAX,
    ...(etag !== undefined && { ifMatch: etag }),
  }
}

async function* changeCategories(
  api: GraphApi,
  effect: Effect,
  keys: readonly string[],
  change: FlagChange,
  plain: Patch,
): AsyncGenerator<ChangedBatch, void, void> {
  let left = keys
  for (let tries = 1; left.length > 0; tries++) {
    const { states, gone } = await readStates(api, left)
    const same: ChangedMessage[] = []
    const asked: Array<{ key: string; request: GraphRequest<TaggedState> }> = []
    for (const { key, value } of states) {
      const categories = mergeCategories(value.categories ?? [], change)
      const json = { ...plain, ...(categories && { categories }) }
      if (Object.keys(json).length === 0) same.push(toChanged(value))
      else asked.push({ key, request: patching(key, json, value['@odata.etag']) })
    }
    const outcomes = await effect.askAll(asked.map(({ request }) => request))
    const sorted = sortOut(
      asked.map(({ key }) => key),
      outcomes,
    )
    yield {
      changed: [...same, ...sorted.done.map(({ value }) => toChanged(value))],
      gone: [...gone, ...sorted.gone],
    }
    const conflicts = sorted.failures.filter(({ failure }) => failure.kind === 'conflict')
    const other = sorted.failures.find(({ failure }) => failure.kind !== 'conflict')
    if (other) throw other.failure
    left = conflicts.map(({ key }) => key)
    if (left.length > 0 && tries === TRIES_MAX)
      throw new ProviderFailure('unavailable', 'Other clients keep changing the message.', {
        isBeforeAcceptance: true,
      })
  }
}

/** Null if nothing changes. Exchange compares the names of categories without case, and keeps their wording. */
function mergeCategories(present: readonly string[], change: FlagChange): string[] | null {
  const isSame = (a: string) => (b: string) => a.toLowerCase() === b.toLowerCase()
  const { addCategories = [], removeCategories = [] } = change
  const kept = present.filter(name => !removeCategories.some(isSame(name)))
  const added = addCategories.filter(
    (name, index) => !kept.some(isSame(name)) && addCategories.findIndex(isSame(name)) === index,
  )
  return kept.length === present.length && added.length === 0 ? null : [...kept, ...added]
}
