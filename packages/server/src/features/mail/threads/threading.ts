import { createHash } from 'node:crypto'

/**
 * Threads messages by Message-ID, References and In-Reply-To if the provider has no threads of its own. Pure:
 * `planThreads` gets one batch and the index's records of the ids in it.
 */
export interface Threadable {
  /** The message's own id in the index; it becomes the id of a thread that it starts. */
  id: string
  receivedAt: Date
  internetMessageId: string | null
  references: readonly string[]
}

export interface ThreadPlan {
  /** Thread id of each message of the batch, by message id. */
  threadIds: Map<string, string>
  /** References that the index does not have yet. */
  links: Array<{ reference: string; threadId: string }>
  /** Threads of the index that turn out to be one. The oldest id stays: ids are UUIDv7, so it is the smallest. */
  joins: Array<{ into: string; from: string[] }>
}

/** 128 bits of a Message-ID in UUID notation: a fixed-size key for ids of any length. */
export function referenceKey(messageId: string): string {
  const hex = createHash('sha256').update(messageId).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}

/** All references in a batch. */
export function referenceKeys(messages: readonly Threadable[]): Map<string, string[]> {
  return new Map(messages.map(message => [message.id, keysOf(message)]))
}

/**
 * @param keys the references of each message, from `referenceKeys`
 * @param known thread id by reference, from the index
 */
export function planThreads(
  messages: readonly Threadable[],
  keys: ReadonlyMap<string, readonly string[]>,
  known: ReadonlyMap<string, string>,
): ThreadPlan {
  const groups = new DisjointSets()
  for (const message of messages) for (const key of keys.get(message.id) ?? []) groups.join(message.id, key)
  for (const [reference, threadId] of known) groups.join(reference, `thread ${threadId}`)

  const existing = new Map<string, Set<string>>()
  for (const threadId of known.values()) {
    const root = groups.find(`thread ${threadId}`)
    const threads = existing.get(root)
    if (threads) threads.add(threadId)
    else existing.set(root, new Set([threadId]))
  }

  const founders = new Map<string, Threadable>()
  for (const message of messages) {
    const root = groups.find(message.id)
    const founder = founders.get(root)
    if (!founder || isOlder(message, founder)) founders.set(root, message)
  }

  const threadOf = (root: string, founder: Threadable) => oldest(existing.get(root)) ?? founder.id
  const threadIds = new Map<string, string>()
  const links = new Map<string, string>()
  for (const message of messages) {
    const root = groups.find(message.id)
    const threadId = threadOf(root, founders.get(root) ?? message)
    threadIds.set(message.id, threadId)
    for (const key of keys.get(message.id) ?? []) if (!known.has(key)) links.set(key, threadId)
  }
  return {
    threadIds,
    links: [...links].map(([reference, threadId]) => ({ reference, threadId })),
    joins: [...existing.values()].flatMap(threads => {
      const into = oldest(threads)
      const from = [...threads].filter(id => id !== into)
      return into !== undefined && from.length > 0 ? [{ into, from }] : []
    }),
  }
}

function oldest(threadIds: ReadonlySet<string> = new Set()): string | undefined {
  let first: string | undefined
  for (const id of threadIds) if (first === undefined || id < first) first = id
  return first
}

function keysOf(message: Threadable): string[] {
  const ids =
    message.internetMessageId === null
      ? message.references
      : [message.internetMessageId, ...message.references]
  return [...new Set(ids)].map(referenceKey)
}

function isOlder(a: Threadable, b: Threadable): boolean {
  const difference = a.receivedAt.getTime() - b.receivedAt.getTime()
  return difference < 0 || (difference === 0 && a.id < b.id)
}

class DisjointSets {
  readonly #parents = new Map<string, string>()

  find(item: string): string {
    let root = item
    for (let parent = this.#parents.get(root); parent !== undefined; parent = this.#parents.get(root))
      root = parent
    for (let next = item; next !== root;) {
      const parent = this.#parents.get(next) ?? root
      this.#parents.set(next, root)
      next = parent
    }
    return root
  }

  join(a: string, b: string): void {
    const [rootA, rootB] = [this.find(a), this.find(b)]
    if (rootA !== rootB) this.#parents.set(rootA, rootB)
  }
}
