/** Marked items that one pass asks the provider about; others that the interface changed are left to a later pass. */
export const MARKS_MAX = 1_000

/** The keys among these that ordinary steps may record: the interface changed none of them. */
export function withoutMarked(keys: readonly string[], marked: ReadonlySet<string>): string[] {
  return keys.filter(key => !marked.has(key))
}

/**
 * Divides what a provider answered about marked keys. Keys that were changed again meanwhile are left for the next time.
 * @param settled the keys whose marks are settled
 * @param keysOf the keys under which the provider was asked about an item
 */
export function settledAnswer<Item, Unreadable extends { key: string }>(
  { items, unreadable }: { items: readonly Item[]; unreadable: readonly Unreadable[] },
  settled: ReadonlySet<string>,
  keysOf: (item: Item) => readonly string[],
): { items: Item[]; unreadable: Unreadable[]; gone: string[] } {
  const answered = new Set([...items.flatMap(keysOf), ...unreadable.map(({ key }) => key)])
  return {
    items: items.filter(item => keysOf(item).some(key => settled.has(key))),
    unreadable: unreadable.filter(({ key }) => settled.has(key)),
    gone: [...settled].filter(key => !answered.has(key)),
  }
}
