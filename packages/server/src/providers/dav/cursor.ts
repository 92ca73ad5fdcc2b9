import { z } from 'zod'
import type { Cursor } from '../mail.ts'
import { secondsOf } from './etags.ts'

const schema = z.object({
  /** The token of sync-collection, from before everything that was recorded. */
  syncToken: z.string().nullable(),
  /** The tag that the collection had then, for servers without tokens. */
  ctag: z.string().nullable(),
  /** Paths of files that may have changed once more in the second of their version. They are read once again. */
  unsettled: z.array(z.string()).default([]),
})

/** The state of following a collection. */
export type CollectionCursor = z.infer<typeof schema>

/** A file that changed later gets another second, so few are in doubt at a time. */
const UNSETTLED_MAX = 50

/** Null if there is none, or none that this version can read: the whole collection is then compared. */
export function readCursor(cursor: Cursor | null): CollectionCursor | null {
  return cursor === null ? null : (schema.safeParse(cursor).data ?? null)
}

/** Whether anything in a collection may have changed since a cursor. */
export function mayHaveChanged(
  cursor: CollectionCursor | null,
  { syncToken, ctag }: { syncToken: string | null; ctag: string | null },
): boolean {
  if (!cursor || cursor.unsettled.length > 0) return true
  if (cursor.syncToken !== null && syncToken !== null) return cursor.syncToken !== syncToken
  return cursor.ctag === null || cursor.ctag !== ctag
}

/** Keys of the followed collections of which anything may have changed, among those that the server has now. */
export function changedAmong(
  found: ReadonlyArray<{ path: string; syncToken: string | null; ctag: string | null }>,
  followed: ReadonlyArray<{ key: string; cursor: Cursor | null }>,
): ReadonlySet<string> {
  const now = new Map(found.map(collection => [collection.path, collection]))
  const changed = followed.filter(({ key, cursor }) => {
    const collection = now.get(key)
    return collection !== undefined && mayHaveChanged(readCursor(cursor), collection)
  })
  return new Set(changed.map(({ key }) => key))
}

/** Collects the files whose version is a time, and the latest one: another change in that second would not show. */
export class UnsettledFiles {
  #latest = 0
  #paths: string[] = []

  add(path: string, version: string | null): void {
    const seconds = version === null ? null : secondsOf(version)
    if (seconds === null || seconds < this.#latest) return
    if (seconds > this.#latest) [this.#latest, this.#paths] = [seconds, []]
    if (this.#paths.length < UNSETTLED_MAX) this.#paths.push(path)
  }

  get paths(): readonly string[] {
    return this.#paths
  }
}
