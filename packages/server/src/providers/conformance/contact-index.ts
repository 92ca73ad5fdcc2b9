import type { ContactsProvider, ContactsStep, RemoteContact, RemoteContactFolder } from '../contacts.ts'
import type { Cursor } from '../mail.ts'

/** Applies the steps of one folder like the follower's index, in memory: enough to check whether they are right. */
export interface ContactIndex {
  readonly folder: RemoteContactFolder
  readonly contacts: Map<string, RemoteContact>
  /** Versions of unreadable contacts by key. */
  readonly unreadable: Map<string, string | null>
  cursor: Cursor | null
  /** How often the versions of the whole folder were asked for. */
  comparisons: number
  /** @returns whether it reached the end; it stops after `stepsMax` steps */
  follow(provider: ContactsProvider, stepsMax?: number): Promise<boolean>
  /** The steps since the last call. */
  takeSteps(): ContactsStep[]
  /** The display names of all contacts, in their order. */
  names(): Array<string | null>
}

export function openContactIndex(
  folder: RemoteContactFolder,
  signal: AbortSignal = new AbortController().signal,
): ContactIndex {
  const steps: ContactsStep[] = []
  const apply = (step: ContactsStep) => {
    steps.push(step)
    if (step.type === 'contacts') {
      for (const contact of step.contacts) {
        for (const key of contact.formerKeys ?? []) index.contacts.delete(key)
        index.contacts.set(contact.key, contact)
        index.unreadable.delete(contact.key)
      }
      for (const { key, version } of step.unreadable) index.unreadable.set(key, version)
    } else if (step.type === 'gone') {
      for (const key of step.keys) for (const held of [index.contacts, index.unreadable]) held.delete(key)
    }
    // A cursor is stored as JSON.
    if (step.cursor !== undefined) index.cursor = JSON.parse(JSON.stringify(step.cursor))
  }
  const index: ContactIndex = {
    folder,
    contacts: new Map(),
    unreadable: new Map(),
    cursor: null,
    comparisons: 0,
    async follow(provider, stepsMax = Number.POSITIVE_INFINITY) {
      let count = 0
      for await (const step of provider.follow({
        folder,
        cursor: index.cursor,
        known: knownTo(index),
        signal,
      })) {
        apply(step)
        if (step.type === 'end') return true
        if (++count >= stepsMax) return false
      }
      throw new Error('following ended without an end')
    },
    takeSteps: () => steps.splice(0),
    names: () => [...index.contacts.values()].map(({ fields }) => fields.displayName).toSorted(),
  }
  return index
}

function knownTo(index: ContactIndex) {
  return async () => {
    index.comparisons += 1
    const readable = [...index.contacts.values()].map(({ key, version }) => [key, version] as const)
    const others = [...index.unreadable].flatMap(([key, version]) =>
      version === null ? [] : [[key, version] as const],
    )
    return new Map([...readable, ...others])
  }
}
