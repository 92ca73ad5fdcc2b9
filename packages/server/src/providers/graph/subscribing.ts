import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { AccessTokens } from '../access-tokens.ts'
import { type FailureKind, isOfAccount, ProviderFailure } from '../failure.ts'
import { type GraphApi, segment } from './api.ts'
import type { StoredSubscription, Subscribing, SubscriptionPlan } from './subscription.ts'

/** The longest life of a subscription to messages (learn.microsoft.com/graph/api/resources/subscription). */
const LIFE_MS_MAX = 10_080 * 60_000
/** Kept from the longest life, since the clocks may differ. */
const CLOCK_MS = 10 * 60_000
const REFUSED_MS = 3_600_000
const FAILED_MS = 60_000
const NONCE_BYTES = 8

/** Graph has decided: it does not reach the address, or the grant does not allow it. */
const REFUSALS: ReadonlySet<FailureKind> = new Set([
  'conflict',
  'forbidden',
  'not_found',
  'rejected',
  'scope_missing',
  'unsupported',
])

const subscriptionSchema = z.object({
  id: z.string().min(1).max(200),
  expirationDateTime: z.iso.datetime({ offset: true }),
})
const renewalSchema = subscriptionSchema.pick({ expirationDateTime: true })

export interface SubscribingOptions {
  /** The id of the user whose messages are watched. Graph gives no subscription to a shared mailbox. */
  mailboxId: string
  plan: SubscriptionPlan
  tokens: AccessTokens
}

/**
 * Keeps Graph notifying of the messages of a mailbox. A subscription is renewed at half of the life that was granted. Its
 * folders are asked for their links before, so that no change falls between.
 */
export function openSubscribing(
  api: Pick<GraphApi, 'askRoot' | 'now'>,
  { mailboxId, plan, tokens }: SubscribingOptions,
): Subscribing {
  const { notificationUrl, lifecycleUrl } = plan
  /** Whether an event was taken after which changes may have been missed, and nobody has asked since. */
  let hasMissed = false
  let subscription: StoredSubscription | null = null
  let problem: string | null = null
  let pause: { from: number; until: number } | null = null
  const isCurrent = () =>
    notificationUrl !== null && subscription !== null && subscription.expiresAt.getTime() > api.now()

  async function store(stored: StoredSubscription | null): Promise<void> {
    subscription = stored
    await plan.record(stored)
  }

  /** The times of a life that was granted until then. */
  function livesUntil(expirationDateTime: string): Pick<StoredSubscription, 'expiresAt' | 'renewAt'> {
    const now = api.now()
    const expiresAt = Math.min(Date.parse(expirationDateTime), now + LIFE_MS_MAX)
    if (expiresAt <= now)
      throw new ProviderFailure('rejected', 'Microsoft Graph granted a subscription that is over.')
    return { expiresAt: new Date(expiresAt), renewAt: new Date(now + (expiresAt - now) / 2) }
  }

  const wanted = () => ({ expirationDateTime: new Date(api.now() + LIFE_MS_MAX - CLOCK_MS).toISOString() })

  async function make(signal: AbortSignal): Promise<void> {
    const nonce = randomBytes(NONCE_BYTES).toString('hex')
    const { value } = await api.askRoot(
      {
        method: 'POST',
        path: 'subscriptions',
        json: {
          changeType: 'created,updated,deleted',
          notificationUrl,
          lifecycleNotificationUrl: lifecycleUrl,
          resource: `users/${mailboxId}/messages`,
          clientState: plan.clientState(nonce),
          ...wanted(),
        },
        schema: subscriptionSchema,
        accepts: [201],
      },
      { signal },
    )
    await store({ id: value.id, nonce, ...livesUntil(value.expirationDateTime), event: null })
  }

  /** Returns false if there is nothing to renew any more. */
  async function renew(stored: StoredSubscription, signal: AbortSignal): Promise<boolean> {
    const path = `subscriptions/${segment(stored.id)}`
    const request = { method: 'PATCH', path, json: wanted(), schema: renewalSchema, accepts: [200] } as const
    try {
      const { value } = await api.askRoot(request, { signal })
      await store({ ...stored, ...livesUntil(value.expirationDateTime), event: null })
      return true
    } catch (error) {
      if (error instanceof ProviderFailure && REFUSALS.has(error.kind)) return false
      throw error
    }
  }

  function fail(error: unknown): void {
    // Failures of the account are handled by its follower.
    if (!(error instanceof ProviderFailure) || isOfAccount(error)) throw error
    const isRefused = REFUSALS.has(error.kind)
    problem = isRefused ? `Microsoft refuses to send notifications: ${error.message}` : null
    const pauseMs = Math.max(isRefused ? REFUSED_MS : FAILED_MS, (error.retryAfterSeconds ?? 0) * 1_000)
    pause = { from: api.now(), until: api.now() + pauseMs }
  }

  /** Acts on the last event that was stored. */
  async function takeEvent(): Promise<void> {
    subscription = await plan.read()
    const { event = null } = subscription ?? {}
    if (event === 'removed') {
      // The user may have withdrawn the grant, and may as well have cleared away subscriptions alone.
      await tryGrant(tokens)
      await store(null)
    } else if (event === 'missed' && subscription) await store({ ...subscription, event: null })
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
      return isCurrent() ? null : problem
    },
    async keep(signal) {
      if (notificationUrl === null || signal.aborted) return
      const now = api.now()
      // A pause that begins later was set before the clock was set back.
      if (pause && pause.from <= now && now < pause.until) return
      try {
        await takeEvent()
        if (!isDue()) return
        const isRenewed = subscription !== null && isCurrent() && (await renew(subscription, signal))
        if (!isRenewed) await make(signal)
        problem = null
        pause = null
      } catch (error) {
        if (!signal.aborted) fail(error)
      }
    },
    async noted() {
      if (notificationUrl === null) return 'nothing'
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
