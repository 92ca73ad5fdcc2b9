import type { ObjectStore } from './object-store.ts'

const REMOVALS_AT_ONCE = 16

/** Removes objects, a few at a time: more requests at once would keep those of readers waiting. */
export async function removeAll(
  objects: Pick<ObjectStore, 'remove'>,
  keys: readonly string[],
): Promise<void> {
  for (let at = 0; at < keys.length; at += REMOVALS_AT_ONCE)
    await Promise.all(keys.slice(at, at + REMOVALS_AT_ONCE).map(key => objects.remove(key)))
}
