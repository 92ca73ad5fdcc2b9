import type { KeptSubscription, StoredSubscription } from '../kept-subscription.ts'

/** The means by which a mailbox is subscribed to. */
export interface SubscriptionPlan {
  notificationUrl: string
  lifecycleUrl: string
  /** Makes the nonce of a new subscription, and the text by which its notifications prove themselves, at most 128 characters. */
  newState(): { nonce: string; clientState: string }
  read(): Promise<StoredSubscription | null>
  /** Whether the notifications of a subscription go to `notificationUrl`, and not to a former address of the service. */
  leadsHere(subscription: KeptSubscription): boolean
  /**
   * Keeps a subscription that was made or renewed. Returns false if the account is not followed any more: nothing is kept
   * then.
   * @param takenEvent the event that was read and acted upon. Another one, which came since then, stays
   */
  record(subscription: KeptSubscription, takenEvent: StoredSubscription['event']): Promise<boolean>
  /** Forgets a subscription that has ended. */
  forget(subscription: KeptSubscription): Promise<void>
}

/** The notifications of one mailbox. */
export interface Subscribing {
  readonly isPushed: boolean
  /** The reason, for people, why there are no notifications although they are wanted; null if there is none. */
  readonly problem: string | null
  /** Makes or renews the subscription if it is due. */
  keep(signal: AbortSignal): Promise<void>
  /** The work that the last lifecycle event demands. */
  noted(): Promise<'nothing' | 'pass'>
}

/** A mailbox that is only polled. */
export const POLLED: Subscribing = {
  isPushed: false,
  problem: null,
  keep: () => Promise.resolve(),
  noted: () => Promise.resolve('nothing'),
}
