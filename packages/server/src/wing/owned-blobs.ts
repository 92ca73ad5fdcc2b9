/**
 * Finds which of these ids are of objects that the wing keeps in the blob store, and returns them. A wing writes the row
 * of an object before the object, and removes the row after it.
 */
export type OwnedBlobs = (ids: readonly string[]) => Promise<readonly string[]>
