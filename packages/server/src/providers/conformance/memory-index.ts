import {
  type Cursor,
  FlagBit,
  type FollowOptions,
  type KnownMessages,
  type MailProvider,
  type MessageKey,
  type PageStep,
  type RemoteMessage,
  type ResetStep,
  type SourceStep,
} from '../mail.ts'

/** Applies the steps of one source like the engine's index, in memory: enough to check whether they are right. */
export interface MemoryIndex {
  readonly source: string
  readonly messages: Map<MessageKey, RemoteMessage>
  readonly unreadable: Map<MessageKey, string>
  readonly steps: SourceStep[]
  cursor: Cursor | null
  since: Date | null
  readonly skip: Set<MessageKey>
  readonly retry: MessageKey[]
  compare(provider: MailProvider): Promise<void>
  /** @returns whether it reached the end; it stops after `stepsMax` steps */
  bring(provider: MailProvider, stepsMax?: number): Promise<boolean>
  /** Compares and brings until nothing is left to do. */
  follow(provider: MailProvider): Promise<void>
  /** The steps since the last call. */
  takeSteps(): SourceStep[]
  /** Keys, ascending. */
  keys(): MessageKey[]
}

export function openIndex(source: string, signal: AbortSignal = new AbortController().signal): MemoryIndex {
  const options = (): FollowOptions => ({
    cursor: index.cursor,
    known: async () => toKnown(index.messages),
    lacking: async keys => keys.filter(key => !index.messages.has(key)),
    heldDrafts: async draftKeys => {
      const held = new Set([...index.messages.values()].map(({ draftKey }) => draftKey))
      return draftKeys.filter(key => held.has(key))
    },
    since: index.since,
    skip: index.skip,
    retry: index.retry,
    signal,
  })
  const applyPart = (step: PageStep['steps'][number]) => {
    if (step.type === 'gone') for (const key of step.keys) index.messages.delete(key)
    else if (step.type === 'states') {
      for (const { key, flags, mailboxKeys } of step.changes) {
        const message = index.messages.get(key)
        if (message) Object.assign(message, flags, mailboxKeys && { mailboxKeys })
      }
    } else {
      for (const message of step.messages) {
        if (typeof message.key === 'number' && index.messages.has(message.key))
          throw new Error(`${message.key} was handed over twice`)
        index.messages.set(message.key, message)
      }
      for (const { key, reason } of step.unreadable) index.unreadable.set(key, reason)
    }
  }
  const apply = (step: SourceStep) => {
    index.steps.push(step)
    if (step.type === 'reset') index.messages.clear()
    else if (step.type === 'page') for (const part of step.steps) applyPart(part)
    else applyPart(step)
    // A cursor is stored as JSON.
    index.cursor = JSON.parse(JSON.stringify(step.cursor))
  }
  const index: MemoryIndex = {
    source,
    messages: new Map(),
    unreadable: new Map(),
    steps: [],
    cursor: null,
    since: null,
    skip: new Set(),
    retry: [],
    async compare(provider) {
      for await (const step of provider.compare(source, options())) apply(step)
    },
    async bring(provider, stepsMax = Number.POSITIVE_INFINITY) {
      let steps = 0
      for await (const step of provider.arrivals(source, options())) {
        apply(step)
        if (++steps >= stepsMax) return false
      }
      return true
    },
    async follow(provider) {
      await index.compare(provider)
      await index.bring(provider)
    },
    takeSteps: () => index.steps.splice(0),
    keys: () => [...index.messages.keys()].toSorted(byKey),
  }
  return index
}

export function byKey(a: MessageKey, b: MessageKey): number {
  if (a === b) return 0
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a) < String(b) ? -1 : 1
}

/** The messages of a mailbox. */
export function heldIn({ messages }: Pick<MemoryIndex, 'messages'>, mailboxKey: string): RemoteMessage[] {
  return [...messages.values()].filter(({ mailboxKeys }) => mailboxKeys.includes(mailboxKey))
}

/** Single steps, and the steps of pages. */
export function partsOf(steps: readonly SourceStep[]): Array<ResetStep | PageStep['steps'][number]> {
  return steps.flatMap((step): ReadonlyArray<ResetStep | PageStep['steps'][number]> =>
    step.type === 'page' ? step.steps : [step],
  )
}

function toKnown(messages: ReadonlyMap<MessageKey, RemoteMessage>): KnownMessages {
  const sorted = [...messages.values()].toSorted((a, b) => Number(a.key) - Number(b.key))
  return {
    keys: Uint32Array.from(sorted, ({ key }) => Number(key)),
    flags: Uint8Array.from(
      sorted,
      ({ isRead, isFlagged, isDraft, categories }) =>
        (isRead ? FlagBit.read : 0) |
        (isFlagged ? FlagBit.flagged : 0) |
        (isDraft ? FlagBit.draft : 0) |
        (categories.length > 0 ? FlagBit.categories : 0),
    ),
  }
}
