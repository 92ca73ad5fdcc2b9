import type { Random } from '../../world/random.ts'

export const CHANGE_TYPES = ['created', 'updated', 'deleted'] as const
export type ChangeType = (typeof CHANGE_TYPES)[number]

/** The items whose changes a subscription reports. */
export type WatchedItems = 'messages' | 'contacts' | 'events'

export interface Subscription {
  readonly id: string
  /** Address of the user who made the subscription, and whose mailbox it watches. */
  readonly email: string
  /** Graph's ids of the same user, of the tenant and of the app. */
  readonly creatorId: string
  readonly tenantId: string
  readonly appId: string
  /** As the client wrote it. */
  readonly resource: string
  readonly of: WatchedItems
  /** The folder or the calendar that it watches; null for the whole mailbox. */
  readonly folderId: string | null
  readonly changeTypes: ReadonlySet<ChangeType>
  notificationUrl: string
  readonly lifecycleUrl: string | null
  readonly clientState: string | null
  /** Whether its notices have immutable ids. */
  readonly isImmutable: boolean
  /** Milliseconds since 1970, by the sandbox's clock. */
  expiresAt: number
  /** Sends no notices until it is reauthorized or renewed. */
  isPaused: boolean
}

/** Number of subscriptions that a mailbox may have, over all apps. */
const SUBSCRIPTIONS_MAX = 1_000

/** The subscriptions of all apps, without those that have expired. */
export interface SubscriptionStore {
  /** Returns null if the mailbox has as many as it may. */
  add(made: Omit<Subscription, 'id' | 'isPaused'>): Subscription | null
  find(id: string): Subscription | null
  list(): Subscription[]
  remove(id: string): void
}

export function openSubscriptionStore(now: () => number, random: Random): SubscriptionStore {
  const byId = new Map<string, Subscription>()
  const list = (): Subscription[] => {
    for (const { id, expiresAt } of byId.values()) if (expiresAt <= now()) byId.delete(id)
    return [...byId.values()]
  }
  return {
    add(made) {
      if (list().filter(({ email }) => email === made.email).length >= SUBSCRIPTIONS_MAX) return null
      const subscription = { ...made, id: uuid(random), isPaused: false }
      byId.set(subscription.id, subscription)
      return subscription
    },
    find: id => list().find(subscription => subscription.id === id.toLowerCase()) ?? null,
    list,
    remove: id => void byId.delete(id),
  }
}

/** An id in the form of a random UUID (RFC 9562 section 5.4). */
export function uuid(random: Random): string {
  const digits = random.hex(32)
  const variant = ['8', '9', 'a', 'b'][random.integer(4)] ?? '8'
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-${variant}${digits.slice(17, 20)}-${digits.slice(20)}`
}
