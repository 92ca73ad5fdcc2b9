/** A subscription of Microsoft Graph to the messages of a mailbox, as it is stored. */
export interface StoredSubscription {
  id: string
  /** Part of the `clientState`, new with each subscription. */
  nonce: string
  expiresAt: Date
  /** The time from which it is renewed. */
  renewAt: Date
  /** The last lifecycle event that has not been acted upon. */
  event: 'reauthorize' | 'removed' | 'missed' | null
}

/** The means by which a mailbox is subscribed to. */
export interface SubscriptionPlan {
  /** The address for notifications; null if the service has no public one. */
  notificationUrl: string | null
  /** The address for lifecycle events; null as above. */
  lifecycleUrl: string | null
  /** The value that proves a notification, at most 128 characters. */
  clientState(nonce: string): string
  read(): Promise<StoredSubscription | null>
  record(subscription: StoredSubscription | null): Promise<void>
}

/** The notifications of one mailbox. */
export interface Subscribing {
  readonly isPushed: boolean
  /** The reason, for people, why there are no notifications although they are wanted; null if there is none. */
  readonly problem: string | null
  /** Makes or renews the subscription if it is due. */
  keep(signal: AbortSignal): Promise<void>
  /** The work that the last lifecycle event demands. */
  noted(): Promise<'nothing' | 'pass' | 'tryGrant'>
}

/** A mailbox that is only polled. */
export const POLLED: Subscribing = {
  isPushed: false,
  problem: null,
  keep: () => Promise.resolve(),
  noted: () => Promise.resolve('nothing'),
}
