/** PostgreSQL keeps no longer text in an index. */
export const KEY_BYTES_MAX = 2_000

/** Whether the index can hold a key of a provider. */
export function isStorableKey(key: string): boolean {
  return storable(key) === key && Buffer.byteLength(key) <= KEY_BYTES_MAX
}

/** A text without what PostgreSQL does not store: NUL, and half of a surrogate pair. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '')
}
