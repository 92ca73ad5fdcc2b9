import { z } from 'zod'
import { parseInput } from '../../world/invalid-input.ts'
import type { Random } from '../../world/random.ts'
import { postUntilTaken } from '../../pushing/post-until-taken.ts'
import type { Contact } from '../mailbox/contact.ts'
import type { EventChange } from '../mailbox/event.ts'
import { occurrenceId } from '../mailbox/ids.ts'
import type { ItemChange, Message } from '../mailbox/message.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'
import { etagOf } from './message-shape.ts'
import {
  type ChangeType,
  type Subscription,
  type SubscriptionStore,
  uuid,
  type WatchedItems,
} from './subscription-store.ts'
import { isValidated } from './validate-endpoint.ts'
import type { Writing } from './writing.ts'

const SettingsSchema = z.strictObject({
  /** How likely a notice is lost, from 0 to 1. */
  drop: z.number().min(0).max(1),
  /** Number of times that a notice is sent. */
  copies: z.int().min(1).max(10),
  /** Milliseconds before a notice is sent. */
  delayMilliseconds: z.int().min(0).max(3_600_000),
  /** Whether the lifecycle event `missed` follows a notice that was lost. */
  missed: z.boolean(),
  /** Minutes for which a subscription is granted at most, whatever was asked for. */
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

/** Parts of Graph that notices depend on. */
export interface NoticeGround {
  readonly random: Random
  readonly writing: Pick<Writing, 'absences' | 'settings'>
  /** Whether the user of an address may still be watched. */
  isActive(email: string): boolean
}

export interface Notifier {
  readonly settings: Readonly<NoticeSettings>
  /** Sends a notice of each change in a mailbox from now on to the subscriptions that cover it. */
  watch(mailbox: Mailbox): void
  /** Sends a lifecycle event to the owners of subscriptions, and carries it out: pauses or removes them. */
  tell(subscriptions: readonly Subscription[], event: LifecycleEvent): void
  /** Validates the endpoint of a new subscription. */
  validate(url: string): Promise<boolean>
  /** Changes how notices behave; returns the settings. Throws `InvalidInput` for settings that are wrong. */
  configure(settings: unknown): NoticeSettings
  close(): void
}

export function openNotifier(store: SubscriptionStore, ground: NoticeGround): Notifier {
  const { random, writing } = ground
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
        void postUntilTaken(() => noticeRequest(url, body), settings.delayMilliseconds, closing.signal)
    })
  }

  /** Returns the type of the notice that was sent; null if none was. */
  const notify = (subscription: Subscription, folderId: string, change: Change): ChangeType | null => {
    const type = changeTypeOf(subscription, folderId, change)
    if (type === null || subscription.isPaused || !subscription.changeTypes.has(type)) return null
    if (random.float() < settings.drop) {
      if (settings.missed) notifier.tell([subscription], 'missed')
      return null
    }
    send(subscription.notificationUrl, notice(subscription, type, change))
    return type
  }

  /** The subscriptions to such items of a mailbox. They end if its user may no longer be watched. */
  const subscriptionsTo = (email: string, of: WatchedItems): Subscription[] => {
    const own = store.list().filter(one => one.email === email)
    if (own.length > 0 && !ground.isActive(email)) {
      notifier.tell(own, 'subscriptionRemoved')
      return []
    }
    return own.filter(one => one.of === of)
  }

  const notifier: Notifier = {
    settings,
    watch(mailbox) {
      mailbox.listeners.add(({ id }, change) => {
        for (const subscription of subscriptionsTo(mailbox.email, 'messages'))
          if (notify(subscription, id, change) === 'created')
            writing.absences.begin(change.item, writing.settings.notFoundAfterNotice)
      })
      mailbox.contacts.listeners.add(({ id }, change) => {
        for (const subscription of subscriptionsTo(mailbox.email, 'contacts'))
          notify(subscription, id, change)
      })
      mailbox.calendars.listeners.add(({ id }, change) => {
        const subscriptions = subscriptionsTo(mailbox.email, 'events')
        const noticed = subscriptions.length === 0 ? null : noticedChange(mailbox.store, change)
        if (noticed) for (const subscription of subscriptions) notify(subscription, id, noticed)
      })
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

const noticeRequest = (url: string, body: string): Request =>
  new Request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body,
    redirect: 'manual',
  })

/** The ids and the version of an event, or of an occurrence. */
interface NoticedEvent {
  readonly id: string
  readonly immutableId: string
  readonly changeKey: string
}

type Change = ItemChange<Message> | ItemChange<Contact> | ItemChange<NoticedEvent>

/** The change of an event as notices report it: an occurrence that differs, or was deleted, by its own id. */
function noticedChange(
  store: string,
  { number, before, after, day }: EventChange,
): ItemChange<NoticedEvent> | null {
  const event = after ?? before
  if (!event) return null
  const base = { number, moved: false, fields: [] }
  if (day === null) {
    const kind = before ? (after ? 'changed' : 'left') : 'arrived'
    return { ...base, kind, item: event, id: event.id }
  }
  const idOf = (isImmutable: boolean) => occurrenceId(store, { series: event.number, day, isImmutable })
  const { changeKey } = event.exceptions.get(day) ?? event
  return {
    ...base,
    kind: event.deleted.has(day) ? 'left' : 'changed',
    item: { id: idOf(false), immutableId: idOf(true), changeKey },
    id: idOf(false),
  }
}

/**
 * Type of a change for a subscription; null if it is sent no notice. An item that is moved leaves one folder and
 * comes into another. For a subscription to the whole mailbox it only changes, provided that it keeps its id.
 */
function changeTypeOf(
  { folderId, isImmutable }: Subscription,
  changedIn: string,
  { kind, moved }: Change,
): ChangeType | null {
  if (folderId !== null && folderId !== changedIn) return null
  if (folderId === null && isImmutable && moved) return kind === 'arrived' ? 'updated' : null
  return ({ arrived: 'created', changed: 'updated', left: 'deleted' } as const)[kind]
}

const shared = ({ id, expiresAt, clientState, tenantId }: Subscription): object => ({
  subscriptionId: id,
  subscriptionExpirationDateTime: new Date(expiresAt).toISOString(),
  clientState,
  tenantId,
})

const NAMES = {
  messages: { path: 'Messages', type: 'Message' },
  contacts: { path: 'Contacts', type: 'Contact' },
  events: { path: 'Events', type: 'Event' },
} as const

function notice(subscription: Subscription, changeType: ChangeType, change: Change): object {
  const id = subscription.isImmutable ? change.item.immutableId : change.id
  const { path, type } = NAMES[subscription.of]
  const resource = `Users/${subscription.creatorId}/${path}/${id}`
  return {
    ...shared(subscription),
    changeType,
    resource,
    resourceData: {
      '@odata.type': `#Microsoft.Graph.${type}`,
      '@odata.id': resource,
      '@odata.etag': etagOf(change.item),
      id,
    },
  }
}

const lifecycleNotice = (subscription: Subscription, lifecycleEvent: LifecycleEvent): object => ({
  ...shared(subscription),
  resource: subscription.resource,
  lifecycleEvent,
})
