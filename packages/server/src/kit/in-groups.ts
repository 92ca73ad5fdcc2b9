export interface GroupOptions<Item, Result> {
  /** Returns one result for each item, in their order. All or nothing. */
  work(items: readonly Item[]): Promise<readonly Result[]>
  itemsMax: number
  /** Whether the work would fail in the same way for each item alone. */
  failsAlone(error: unknown): boolean
}

interface Asked<Item, Result> {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Returns a function that does its work in groups: the first item at once, and those that arrive meanwhile together
 * afterwards. Where a group fails, each item is done alone, so that none fails because of another.
 */
export function inGroups<Item, Result>(options: GroupOptions<Item, Result>): (item: Item) => Promise<Result> {
  const { work, itemsMax, failsAlone } = options
  const waiting: Asked<Item, Result>[] = []
  let isWorking = false

  async function doAll(): Promise<void> {
    isWorking = true
    while (waiting.length > 0) await doGroup(waiting.splice(0, itemsMax))
    isWorking = false
  }

  async function doGroup(group: readonly Asked<Item, Result>[]): Promise<void> {
    try {
      const results = await work(group.map(({ item }) => item))
      // One for each item.
      for (const [index, { resolve }] of group.entries()) resolve(results[index]!)
    } catch (error) {
      if (group.length === 1 || failsAlone(error)) for (const { reject } of group) reject(error)
      else for (const asked of group) await doGroup([asked])
    }
  }

  return item =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!isWorking) void doAll()
    })
}
