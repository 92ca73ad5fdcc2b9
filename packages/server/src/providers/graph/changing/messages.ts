import { CHANGED_KEYS_MAX, type ChangedMessage, type MessageSet, type NewLocation } from '../../changing.ts'
import type { ProviderFailure } from '../../failure.ts'
import { BATCH_PARTS_MAX, type GraphApi, type GraphRequest, type PartOutcome, segment } from '../api.ts'
import { flagsOf, STATE_FIELDS } from '../message.ts'
import { stateSchema } from '../resources.ts'
import { z } from 'zod'

/** A changed message comes with its body. */
export const CHANGED_BYTES_MAX = 8 * 1024 * 1024

export const taggedSchema = stateSchema.extend({ '@odata.etag': z.string().max(1_000).optional() })
export type TaggedState = z.infer<typeof taggedSchema>

export const pathOf = (key: string) => `messages/${segment(key)}`

/** The location of a message, whose key stays valid wherever it is. */
export function locationOf(folderId: string, key: string): NewLocation {
  return { source: folderId, key, isValidUnder: () => true, firstCursor: null }
}

export function toChanged(state: TaggedState): ChangedMessage {
  return {
    key: state.id,
    flags: flagsOf(state),
    mailboxKeys: state.parentFolderId ? [state.parentFolderId] : [],
    revision: null,
  }
}

/** The ids among the keys, in batches. */
export function* batchesOf({ keys }: Pick<MessageSet, 'keys'>): Generator<string[]> {
  if (keys.length > CHANGED_KEYS_MAX) throw new RangeError(`more than ${CHANGED_KEYS_MAX} keys`)
  const ids = keys.filter(key => typeof key === 'string')
  for (let at = 0; at < ids.length; at += BATCH_PARTS_MAX) yield ids.slice(at, at + BATCH_PARTS_MAX)
}

/** Numbers among the keys: Graph has none, so there are no such messages. */
export function numbersOf({ keys }: Pick<MessageSet, 'keys'>): number[] {
  return keys.filter(key => typeof key === 'number')
}

/** Sorts the parts of a batch by their outcome. `failures` has the others. */
export function sortOut<T>(keys: readonly string[], outcomes: ReadonlyArray<PartOutcome<T>>) {
  const done: Array<{ key: string; value: T }> = []
  const gone: string[] = []
  const failures: Array<{ key: string; failure: ProviderFailure }> = []
  for (const [index, key] of keys.entries()) {
    const outcome = outcomes[index]
    if (!outcome) continue
    if (outcome.failure === null) done.push({ key, value: outcome.value })
    else if (outcome.failure.kind === 'not_found') gone.push(key)
    else failures.push({ key, failure: outcome.failure })
  }
  return { done, gone, failures }
}

export function readingState(key: string): GraphRequest<TaggedState> {
  return { path: pathOf(key), query: { $select: STATE_FIELDS }, schema: taggedSchema, accepts: [200] }
}

/** The states of messages as they are now. */
export async function readStates(api: GraphApi, keys: readonly string[]) {
  const { done, gone, failures } = sortOut(keys, await api.askAll(keys.map(readingState)))
  if (failures[0]) throw failures[0].failure
  return { states: done, gone }
}
