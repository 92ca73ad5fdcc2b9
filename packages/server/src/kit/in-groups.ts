export interface GroupOptions<Item, Result> {
  /** Returns one result for each item, in their order. All or nothing. */
  work(items: readonly Item[]): Promise<readonly Result[]>
  itemsMax: number
  /** The size of an item, and that of a group, which only an item that is larger alone exceeds. */
  size?: { of(item: Item): number; max: number }
  /** Whether the work would fail in the same way for each item alone. */
  failsAlone(error: unknown): boolean
  /** Whether a group that has so many items waits for more that are on their way, at most for this time. */
  more?: { isAwaited(count: number): boolean; milliseconds: number }
  /** A group that takes long keeps others waiting only for this time, unless there are as many slow ones already. */
  patience?: { milliseconds: number; slowMax: number }
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
  const { work, failsAlone, more, patience } = options
  const waiting: Asked<Item, Result>[] = []
  let isWorking = false
  let onAsked = () => {}

  async function doAll(): Promise<void> {
    isWorking = true
    const slow = new Set<Promise<void>>()
    while (waiting.length > 0) {
      if (more?.isAwaited(waiting.length)) await awaitMore(more)
      const group = doGroup(takeGroup(waiting, options))
      if (!patience || (await isOverIn(group, patience.milliseconds))) {
        await group
        continue
      }
      slow.add(group)
      void group.then(() => slow.delete(group))
      if (slow.size > patience.slowMax) await Promise.race(slow)
    }
    isWorking = false
  }

  async function awaitMore({ isAwaited, milliseconds }: NonNullable<typeof more>): Promise<void> {
    const enough = Promise.withResolvers<void>()
    const timer = setTimeout(enough.resolve, milliseconds)
    onAsked = () => {
      if (!isAwaited(waiting.length)) enough.resolve()
    }
    await enough.promise
    onAsked = () => {}
    clearTimeout(timer)
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
      if (isWorking) onAsked()
      else void doAll()
    })
}

export interface KeyedGroupOptions<Item, Result> extends Omit<GroupOptions<Item, Result>, 'work' | 'more'> {
  keyOf(item: Item): string
  /** As that of `GroupOptions`, for items of one key. */
  work(key: string, items: readonly Item[]): Promise<readonly Result[]>
  more?: { isAwaited(key: string, count: number): boolean; milliseconds: number }
}

/** The same with groups for each key. Groups of different keys do not wait for each other. */
export function inGroupsByKey<Item, Result>({
  keyOf,
  work,
  more,
  ...options
}: KeyedGroupOptions<Item, Result>): (item: Item) => Promise<Result> {
  const keys = new Map<string, { act: (item: Item) => Promise<Result>; running: number }>()
  const actFor = (name: string) =>
    inGroups({
      ...options,
      work: items => work(name, items),
      ...(more && { more: { ...more, isAwaited: count => more.isAwaited(name, count) } }),
    })
  return async item => {
    const name = keyOf(item)
    const known = keys.get(name)
    const key = known ?? { act: actFor(name), running: 0 }
    if (!known) keys.set(name, key)
    key.running++
    try {
      return await key.act(item)
    } finally {
      if (--key.running === 0) keys.delete(name)
    }
  }
}

/** Takes the first of those that wait, and as many more as belong to its group. */
function takeGroup<Item, Result>(
  waiting: Asked<Item, Result>[],
  { itemsMax, size }: GroupOptions<Item, Result>,
): Asked<Item, Result>[] {
  if (!size) return waiting.splice(0, itemsMax)
  let [count, total] = [0, 0]
  for (const { item } of waiting) {
    total += size.of(item)
    if (count === itemsMax || (count > 0 && total > size.max)) break
    count++
  }
  return waiting.splice(0, count)
}

/** @param work never rejects */
async function isOverIn(work: Promise<void>, milliseconds: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), milliseconds)
  const isOver = await Promise.race([work.then(() => true), late.promise])
  clearTimeout(timer)
  return isOver
}
