import { z } from 'zod'
import { parseInput } from '../../world/invalid-input.ts'
import type { Random } from '../../world/random.ts'
import { isValidated, postUntilTaken } from './post-notices.ts'
import { type ChangeType, type Subscription, type SubscriptionStore, uuid } from './subscription-store.ts'

const SettingsSchema = z.strictObject({
  /** How likely a notice is lost, from 0 to 1. */
  drop: z.number().min(0).max(1),
  /** Number of times that a notice comes. */
  copies: z.int().min(1).max(10),
  /** Milliseconds before a notice is sent. */
  delayMilliseconds: z.int().min(0).max(3_600_000),
  /** Whether the lifecycle event `missed` follows a notice that was lost. */
  missed: z.boolean(),
  /** The longest time that a subscription is granted, whatever was asked for. */
  minutesMax: z.int().min(1).max(10_080),
})

export type NoticeSettings = z.output<typeof SettingsSchema>

const DEFAULT_SETTINGS: NoticeSettings = {
  drop: 0,
  copies: 1,
  delayMilliseconds: 0,
  missed: false,
  minutesMax: 10_080,
}

export const LIFECYCLE_EVENTS = ['reauthorizationRequired', 'subscriptionRemoved', 'missed'] as const
export type LifecycleEvent = (typeof LIFECYCLE_EVENTS)[number]

/** What a notice says of a message that changed. */
export interface MessageChange {
  readonly type: ChangeType
  readonly folderId: string
  readonly etag: string
  readonly id: string
  /** The id of clients that do not ask for the ids that last. */
  readonly changingId: string
}

export interface Notifier {
  readonly settings: Readonly<NoticeSettings>
  /** Sends a notice to each subscription that covers a change in this user's mailbox. */
  notify(email: string, change: MessageChange): void
  /** Tells the owners of subscriptions what happened to them, and does it. */
  tell(subscriptions: readonly Subscription[], event: LifecycleEvent): void
  /** Whether the endpoint of a new subscription answers as it has to. */
  validate(url: string): Promise<boolean>
  /** Changes how notices behave; returns the settings. Throws `InvalidInput` for settings that are wrong. */
  configure(settings: unknown): NoticeSettings
  close(): void
}

export function openNotifier(store: SubscriptionStore, random: Random): Notifier {
  const settings = { ...DEFAULT_SETTINGS }
  const closing = new AbortController()
  const waiting = new Map<string, object[]>()

  /** Notices of one moment go to an endpoint in one request. */
  const send = (url: string, item: object): void => {
    const items = waiting.get(url)
    if (items) return void items.push(item)
    const batch = [item]
    waiting.set(url, batch)
    setImmediate(() => {
      waiting.delete(url)
      const body = JSON.stringify({ value: batch })
      for (let copy = 0; copy < settings.copies; copy += 1)
        void postUntilTaken(url, body, settings.delayMilliseconds, closing.signal)
    })
  }

  const notifier: Notifier = {
    settings,
    notify(email, change) {
      for (const subscription of store.list()) {
        if (subscription.email !== email || subscription.isPaused || !covers(subscription, change)) continue
        if (random.float() >= settings.drop) send(subscription.notificationUrl, notice(subscription, change))
        else if (settings.missed) notifier.tell([subscription], 'missed')
      }
    },
    tell(subscriptions, event) {
      for (const subscription of subscriptions) {
        if (event === 'reauthorizationRequired') subscription.isPaused = true
        if (event === 'subscriptionRemoved') store.remove(subscription.id)
        if (subscription.lifecycleUrl !== null)
          send(subscription.lifecycleUrl, lifecycleNotice(subscription, event))
      }
    },
    validate: url =>
      isValidated(
        url,
        `Validation: Testing client application reachability for subscription Request-Id: ${uuid(random)}`,
        closing.signal,
      ),
    configure(given) {
      Object.assign(settings, parseInput(SettingsSchema.partial(), given))
      return { ...settings }
    },
    close: () => closing.abort(),
  }
  return notifier
}

const covers = ({ changeTypes, folderId }: Subscription, change: MessageChange): boolean =>
  changeTypes.has(change.type) && (folderId === null || folderId === change.folderId)

const shared = ({ id, expiresAt, clientState, tenantId }: Subscription): object => ({
  subscriptionId: id,
  subscriptionExpirationDateTime: new Date(expiresAt).toISOString(),
  clientState,
  tenantId,
})

function notice(subscription: Subscription, { type, etag, ...ids }: MessageChange): object {
  const id = subscription.isImmutable ? ids.id : ids.changingId
  const resource = `Users/${subscription.creatorId}/Messages/${id}`
  return {
    ...shared(subscription),
    changeType: type,
    resource,
    resourceData: {
      '@odata.type': '#Microsoft.Graph.Message',
      '@odata.id': resource,
      '@odata.etag': etag,
      id,
    },
  }
}

const lifecycleNotice = (subscription: Subscription, lifecycleEvent: LifecycleEvent): object => ({
  ...shared(subscription),
  resource: subscription.resource,
  lifecycleEvent,
})
