import type { PushTerms } from './store.ts'

/** The push settings of the operator, which come together or not at all. */
export interface PushConfig {
  googlePushTopic: string | null
  googlePushSubscription: string | null
  googlePushServiceAccount: string | null
}

/** The terms of the operator's app; null if it has none. */
export function operatorsTerms(config: PushConfig): PushTerms | null {
  const { googlePushTopic: topic, googlePushSubscription: subscription } = config
  const { googlePushServiceAccount: serviceAccount } = config
  if (topic === null || subscription === null || serviceAccount === null) return null
  return { topic, subscription, serviceAccount }
}
