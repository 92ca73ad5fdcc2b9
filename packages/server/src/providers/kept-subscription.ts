import type { Secret } from '../kit/secret.ts'
import type { Cloud } from './sign-in.ts'

/** A subscription to the messages of a mailbox, as it was last made or renewed. */
export interface KeptSubscription {
  id: string
  /** Part of the `clientState`, new with each subscription. */
  nonce: string
  expiresAt: Date
  /** The time from which it is renewed. */
  renewAt: Date
}

/** A subscription as it is stored. */
export interface StoredSubscription extends KeptSubscription {
  /** The last lifecycle event that has not been acted upon. */
  event: 'reauthorize' | 'removed' | 'missed' | null
}

/** A subscription of an account that is no longer followed. */
export interface LeftSubscription {
  cloud: Cloud
  id: string
  /** The resource of a channel of Google, which is stopped by both ids. Null: a subscription of Microsoft Graph. */
  resourceId: string | null
  /** A token of the grant under which it was made. */
  accessToken: Secret
}

/**
 * Deletes a subscription at the provider. It is no failure if there is no such subscription, or if the provider refuses the
 * token: the subscription then ends by itself. Throws `ProviderFailure`.
 */
export type DeleteSubscription = (left: LeftSubscription, signal: AbortSignal) => Promise<void>
