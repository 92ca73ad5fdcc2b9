import { z } from 'zod'
import {
  recordEvents,
  recordNotified,
  type Subscribed,
  type SubscriptionEvent,
} from '../../../accounts/grants/subscriptions.ts'
import type { Db } from '../../../database/pool.ts'
import type { Waker } from '../../../database/wake.ts'
import type { Logger } from '../../../kit/log.ts'
import type { Push, PushOutcome, PushReceiver } from '../../../kit/push-receiver.ts'
import type { NotificationOutcome } from '../graph-metrics.ts'
import type { ClientStates } from './client-state.ts'
import { Folded } from './folded.ts'

/** A burst has up to 1,000 notifications, each of some hundred bytes. */
const BODY_BYTES_MAX = 1024 * 1024
const ITEMS_MAX = 1000

/** learn.microsoft.com/graph/api/resources/changenotificationcollection */
const collectionSchema = z.object({ value: z.array(z.unknown()).max(ITEMS_MAX) })
const itemSchema = z.object({
  clientState: z.string().max(128),
  lifecycleEvent: z.string().max(100).nullish(),
})

/** learn.microsoft.com/graph/change-notifications-lifecycle-events */
const EVENTS = new Map<string, SubscriptionEvent>([
  ['reauthorizationRequired', 'reauthorize'],
  ['subscriptionRemoved', 'removed'],
  ['missed', 'missed'],
])

export interface GraphPushOptions {
  db: Db
  waker: Pick<Waker, 'wake'>
  log: Pick<Logger, 'warn'>
  states: ClientStates
  countNotification(outcome: NotificationOutcome): void
}

export const NOTIFICATION_PATH = '/push/graph'
export const LIFECYCLE_PATH = '/push/graph/lifecycle'

/**
 * Takes notifications of Microsoft Graph, and events in the lives of its subscriptions. They prove themselves by their
 * `clientState`, so that others cost no statement. Every collection is answered alike, from which strangers learn nothing.
 */
export function graphPushReceivers(options: GraphPushOptions): PushReceiver[] {
  const { db, waker, log, states, countNotification: count } = options
  const onError = (error: unknown) => log.warn({ error }, 'Notifications of Microsoft Graph were not stored')
  const notified = new Folded<Subscribed>({
    store: async values => {
      for (const [kind, some] of Map.groupBy(values, ([, subscribed]) => subscribed.kind)) {
        const subscribed = some.map(([, one]) => one)
        const { ids, heldIds } = await recordNotified(db, kind, subscribed)
        for (const id of ids) waker.wake(id, 'waxwing_notice')
        const held = new Set(heldIds)
        for (const [key, one] of some) if (held.has(one.accountId)) notified.add(key, one)
      }
    },
    onError,
  })
  const events = new Folded<Subscribed & { event: SubscriptionEvent }>({
    store: async values => {
      for (const [kind, some] of Map.groupBy(values.values(), subscribed => subscribed.kind))
        await recordEvents(db, kind, some)
      for (const [key, { accountId, kind, nonce }] of values) notified.add(key, { accountId, kind, nonce })
    },
    fold: (before, after) => (before.event === 'removed' ? before : after),
    onError,
  })
  return [
    receiver(NOTIFICATION_PATH, items => {
      for (const { key, subscribed } of proven(states, items, count))
        count(notified.add(key, subscribed) ? 'taken' : 'dropped')
    }),
    receiver(LIFECYCLE_PATH, items => {
      for (const { key, subscribed, item } of proven(states, items, count)) {
        const event = EVENTS.get(item.lifecycleEvent ?? '')
        if (event) count(events.add(key, { ...subscribed, event }) ? 'event' : 'dropped')
        else count('unknown')
      }
    }),
  ]
}

function receiver(path: string, take: (items: readonly unknown[]) => void): PushReceiver {
  return {
    path,
    bodyBytesMax: BODY_BYTES_MAX,
    needsAuthorization: false,
    takenStatus: 202,
    async receive({ query, body }: Push): Promise<PushOutcome> {
      // Asked before a subscription is made (learn.microsoft.com/graph/change-notifications-delivery-webhooks).
      const echo = query.get('validationToken')
      if (echo !== null) return { echo }
      const collection = collectionSchema.safeParse(parse(body))
      if (!collection.success) return 'forged'
      take(collection.data.value)
      return 'taken'
    },
  }
}

interface Proven {
  key: string
  subscribed: Subscribed
  item: z.output<typeof itemSchema>
}

/** The items whose `clientState` was made here. Each text is checked once, as most items of a push have the same. */
function* proven(
  states: ClientStates,
  items: readonly unknown[],
  count: (outcome: 'forged') => void,
): Generator<Proven> {
  const checked = new Map<string, Subscribed | null>()
  for (const each of items) {
    const { data: item } = itemSchema.safeParse(each)
    const key = item?.clientState ?? ''
    let subscribed = checked.get(key)
    if (subscribed === undefined) checked.set(key, (subscribed = states.read(key)))
    if (item && subscribed) yield { key, subscribed, item }
    else count('forged')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
