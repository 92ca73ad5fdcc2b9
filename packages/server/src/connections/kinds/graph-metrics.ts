import { Counter, Gauge, type Metric } from 'prom-client'
import type { GraphObserver } from '../../providers/graph/observed.ts'

/**
 * `taken`: a look was asked for. `event`: an event in the life of a subscription was noted. `forged`: nothing here made its
 * `clientState`. `unknown`: it is of a kind that nothing is done about. `dropped`: too many wait.
 */
export type NotificationOutcome = 'taken' | 'event' | 'forged' | 'unknown' | 'dropped'

export interface GraphMetrics {
  all: readonly Metric[]
  observer: GraphObserver
  countNotification(outcome: NotificationOutcome): void
}

export function graphMetrics(): GraphMetrics {
  const calls = new Counter({
    name: 'waxwing_graph_calls_total',
    help:
      'Calls to Microsoft Graph, by outcome and urgency; "throttled" counts its 429s, "held_back" calls that were not ' +
      'sent to stay within its limits',
    labelNames: ['outcome', 'urgency'],
    registers: [],
  })
  const waits = new Counter({
    name: 'waxwing_graph_wait_seconds_total',
    help:
      'Seconds that calls to Microsoft Graph waited to stay within its limits, by cause: for a slot, or as the time after ' +
      'which the quota has room again',
    labelNames: ['cause'],
    registers: [],
  })
  const slots = new Gauge({
    name: 'waxwing_graph_slots_used',
    help: 'Requests to Microsoft Graph that this process has under way, of all mailboxes',
    registers: [],
  })
  const notifications = new Counter({
    name: 'waxwing_graph_notifications_total',
    help: 'Notifications that came for subscriptions at Microsoft Graph, by outcome',
    labelNames: ['outcome'],
    registers: [],
  })
  const customZones = new Counter({
    name: 'waxwing_graph_custom_zones_total',
    help:
      'Events that were read from Microsoft Graph whose time zone has no known name, so that they are shown in that of ' +
      'the mailbox',
    registers: [],
  })
  return {
    all: [calls, waits, slots, notifications, customZones],
    observer: {
      ended: (outcome, urgency) => calls.inc({ outcome, urgency }),
      waited: (cause, seconds) => waits.inc({ cause }, seconds),
      slot: change => slots.inc(change),
      customZone: () => customZones.inc(),
    },
    countNotification: outcome => notifications.inc({ outcome }),
  }
}
