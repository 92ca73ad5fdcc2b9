import { z } from 'zod'
import type { AccessTokens } from '../access-tokens.ts'
import { within } from '../../kit/within.ts'
import { isOfAccount, ProviderFailure } from '../failure.ts'
import type { KeptSubscription, StoredSubscription } from '../kept-subscription.ts'
import { isRefusal, pushTrouble } from '../push-trouble.ts'
import { type GraphApi, segment } from './api.ts'
import type { Subscribing, SubscriptionPlan } from './subscription.ts'

/** The longest life of a subscription to messages or contacts (learn.microsoft.com/graph/api/resources/subscription). */
const LIFE_MS_MAX = 10_080 * 60_000
/** Kept from the longest life, since the clocks may differ. */
const CLOCK_MS = 10 * 60_000

const subscriptionSchema = z.object({
  id: z.string().min(1).max(200),
  expirationDateTime: z.iso.datetime({ offset: true }),
})
const renewalSchema = subscriptionSchema.pick({ expirationDateTime: true })

export interface SubscribingOptions {
  /** The messages or contacts that are watched, of the user whose grant it is. Graph gives none to a shared mailbox. */
  resource: string
  plan: SubscriptionPlan
  tokens: AccessTokens
}

/**
 * Keeps Graph notifying of the messages or the contacts of a mailbox. A subscription is renewed at half of the life that was
 * granted. Its folders are asked for their links before, so that no change falls between.
 */
export function openSubscribing(
  api: Pick<GraphApi, 'askRoot' | 'now'>,
  { resource, plan, tokens }: SubscribingOptions,
): Subscribing {
  /** Whether an event was taken after which changes may have been missed, and nobody has asked since. */
  let hasMissed = false
  let subscription: StoredSubscription | null = null
  /** The stored subscription, if its notifications go to a former address of the service. */
  let former: StoredSubscription | null = null
  /** A subscription that is being made, also if the look that began it has ended: Microsoft may have it already. */
  let making: Promise<void> | null = null
  const trouble = pushTrouble('Microsoft refuses to send notifications', () => api.now())
  const isCurrent = () => subscription !== null && subscription.expiresAt.getTime() > api.now()

  /**
   * Returns false if the account is not followed any more.
   * @param takenEvent the event that was read and acted upon
   */
  async function store(
    kept: KeptSubscription,
    takenEvent: StoredSubscription['event'] = null,
  ): Promise<boolean> {
    const isKept = await plan.record(kept, takenEvent)
    subscription = isKept ? { ...kept, event: null } : null
    return isKept
  }

  /** The times of a life that was granted until then. */
  function livesUntil(expirationDateTime: string): Pick<KeptSubscription, 'expiresAt' | 'renewAt'> {
    const now = api.now()
    const expiresAt = Math.min(Date.parse(expirationDateTime), now + LIFE_MS_MAX)
    if (expiresAt <= now)
      throw new ProviderFailure('rejected', 'Microsoft Graph granted a subscription that is over.')
    return { expiresAt: new Date(expiresAt), renewAt: new Date(now + (expiresAt - now) / 2) }
  }

  const wanted = () => ({ expirationDateTime: new Date(api.now() + LIFE_MS_MAX - CLOCK_MS).toISOString() })

  function make(): Promise<void> {
    making ??= makeNew().finally(() => {
      making = null
    })
    return making
  }

  async function makeNew(): Promise<void> {
    const { nonce, clientState } = plan.newState()
    const { value } = await api.askRoot({
      method: 'POST',
      path: 'subscriptions',
      json: {
        changeType: 'created,updated,deleted',
        notificationUrl: plan.notificationUrl,
        lifecycleNotificationUrl: plan.lifecycleUrl,
        resource,
        clientState,
        ...wanted(),
      },
      schema: subscriptionSchema,
      accepts: [201],
    })
    const { id } = value
    const isKept = await store({ id, nonce, ...livesUntil(value.expirationDateTime) })
    if (!isKept) await remove(id)
    else if (former) await removeFormer(former.id)
    former = null
  }

  /** Deletes a subscription that was made while the account was paused or deleted, which has also ended the signal. */
  async function remove(id: string): Promise<void> {
    const path = `subscriptions/${segment(id)}`
    await api.askRoot({ method: 'DELETE', path, schema: z.undefined(), accepts: [204] })
  }

  /** Deletes a subscription after another one has replaced it. If that fails, it ends by itself. */
  async function removeFormer(id: string): Promise<void> {
    try {
      await remove(id)
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
    }
  }

  /** Returns false if there is nothing to renew any more. */
  async function renew({ event, ...kept }: StoredSubscription, signal: AbortSignal): Promise<boolean> {
    const path = `subscriptions/${segment(kept.id)}`
    const request = { method: 'PATCH', path, json: wanted(), schema: renewalSchema, accepts: [200] } as const
    try {
      const { value } = await api.askRoot(request, { signal })
      await store({ ...kept, ...livesUntil(value.expirationDateTime) }, event)
      return true
    } catch (error) {
      if (error instanceof ProviderFailure && isRefusal(error)) return false
      throw error
    }
  }

  /** Acts on the last event that was stored. */
  async function takeEvent(): Promise<void> {
    const stored = await plan.read()
    former = stored && !plan.leadsHere(stored) ? stored : null
    subscription = former ? null : stored
    if (subscription === null) return
    const { event, ...kept } = subscription
    if (event === 'removed') {
      // The user may have withdrawn the grant, and may as well have cleared away subscriptions alone.
      await tryGrant(tokens)
      await plan.forget(kept)
      subscription = null
    } else if (event === 'missed') await store(kept, event)
    // The renewal does what `reauthorize` asks for.
    if (event === 'removed' || event === 'missed') hasMissed = true
  }

  function isDue(): boolean {
    if (!isCurrent() || !subscription || subscription.event === 'reauthorize') return true
    // None is renewed later than after this time, unless the clock was set back.
    const renewIn = subscription.renewAt.getTime() - api.now()
    return renewIn <= 0 || renewIn > LIFE_MS_MAX / 2
  }

  return {
    get isPushed() {
      return isCurrent()
    },
    get problem() {
      return isCurrent() ? null : trouble.problem
    },
    async keep(signal) {
      if (signal.aborted || trouble.isPaused) return
      try {
        await takeEvent()
        if (!isDue()) return
        const isRenewed = subscription !== null && isCurrent() && (await renew(subscription, signal))
        if (!isRenewed) await within(signal, make())
        trouble.end()
      } catch (error) {
        if (!signal.aborted) trouble.note(error)
      }
    },
    async noted() {
      await takeEvent()
      const work = hasMissed ? 'pass' : 'nothing'
      hasMissed = false
      return work
    },
  }
}

/**
 * Has the provider prove the grant by a new access token. A grant that it refuses fails as one of the account; a provider
 * that cannot be asked now proves nothing.
 */
async function tryGrant(tokens: AccessTokens): Promise<void> {
  try {
    await tokens.renew(await tokens.get())
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    // `access_refused`: the token was issued a moment ago, so the grant is good.
    if (isOfAccount(error) && error.kind !== 'access_refused') throw error
  }
}
