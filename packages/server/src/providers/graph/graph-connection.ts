import type { GraphApi } from './api.ts'
import type { SeenState } from './seen-state.ts'
import type { Subscribing } from './subscription.ts'

/** State of one connection to a mailbox of Microsoft Graph. All of it can be requested again. */
export interface GraphConnection {
  api: GraphApi
  /** Ends all requests over this connection. */
  signal: AbortSignal
  /** Whether the sources of arriving messages are wanted with them. */
  takesSources: boolean
  /** The notifications of the mailbox. */
  subscribing: Subscribing
  /** The results of earlier looks at the mailbox. */
  seen: SeenState
  /** The mailbox of the delegate, in which Exchange may have filed a copy of sent mail; null for a mailbox of one's own. */
  delegate: GraphApi | null
}
