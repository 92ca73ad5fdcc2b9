import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import type { State } from '../../src/features/sending/outbox/transitions.ts'
import type { Announced } from '../calendars/calendar-feed.ts'
import type { FeedEvent } from '../sync/followed-account.ts'
import type { IndexState } from '../sync/fold-feed.ts'
import type { HistoryEntry } from './history.ts'

/** Evidence for the checks: the history, and the state of everything after it had come to rest. */
export interface Evidence {
  history: readonly HistoryEntry[]
  end: EndState
}

export interface EndState {
  /** The rows of the event log, in the order of their ids. */
  events: CommittedEvent[]
  /** The feed, read from its beginning after everything was at rest. */
  feed: FeedEvent[]
  endpoints: EndpointState[]
  /** Deliveries that the database still has: they wait, or were given up. */
  deliveries: Array<{ endpoint: string; eventId: string; isDue: boolean }>
  outbox: OutboxState[]
  /** Messages that were accepted, in the order of the journal of the SMTP server and of the inbox at Graph. */
  accepted: AcceptedMessage[]
  mailboxes: MailboxState[]
  contacts: ContactState[]
  calendars: CalendarState[]
  /** Mails about events that accounts queued. */
  invitations: InvitationState[]
  /** Flags at the provider, by account and subject. */
  flags: Array<{ accountId: string; subject: string; isRead: boolean; isFlagged: boolean }>
  owners: OwnerChange[]
  /** Cursors that a process moved although the account belonged to another one. */
  staleWrites: Array<{ accountId: string; writer: string; owner: string | null }>
  /** The states in which entries of the outbox were committed. */
  outboxStates: State[]
  /** Changes of a status, in order. */
  transitions: Transition[]
  audit: { rows: Array<{ requestId: string; status: number }>; findings: number }
  resources: Resources
  deleted: DeletedAccount[]
  windows: WindowsState
  /** The only slot whose processes follow accounts; null if there are several. */
  loneFollower: string | null
  /** Sends of a tenant while all that other tenants sent hung at the dot. */
  neighbours: NeighbourSend[]
  /** Columns of the database with a moment in the future, such as `outbox.due_set_at`. */
  timesAhead: string[]
  /** Bounds of things that may take time. */
  bounds: Bounds
}

export interface AcceptedMessage {
  messageId: string
  by: 'the SMTP server' | 'Microsoft Graph'
}

export interface NeighbourSend {
  id: string
  /** How long it took to leave; null if it did not. */
  seconds: number | null
}

export interface Bounds {
  /** Seconds for which two processes may follow one account. */
  shared: number
  /** Seconds for which an account may have no living owner; null where the machine is too busy to judge it. */
  unowned: number | null
  /** Seconds in which a send leaves although other tenants' servers hang. */
  neighbour: number
}

/** Where requests of a minute are counted, and whether they are at the end. */
export interface WindowsState {
  keeper: 'redis' | 'table' | 'memory'
  isCounted: boolean
}

/** Remains of an account whose deletion was acknowledged. */
export interface DeletedAccount {
  accountId: string
  /** Tables in which a word is found that only this account had. */
  tablesLeft: string[]
  /** Messages that the mail server accepted from it. All were to be sent long after the deletion. */
  acceptedCount: number
  /** The types of the events about it, in order. */
  events: string[]
  isFollowed: boolean
}

export interface CommittedEvent {
  id: string
  type: string
  accountId: string | null
  /** Milliseconds since the epoch. */
  createdAt: number
}

export interface EndpointState {
  /** The name in the history. */
  name: string
  createdAt: number
  /** Events up to this id are from before it was created. */
  fromEventId: string
  isEnabled: boolean
  /** Whether it was never disabled, not for a moment. */
  isSteady: boolean
}

export interface OutboxState {
  id: string
  /** The Idempotency-Key of the request, which is also the subject. */
  key: string
  internetMessageId: string
  status: string
  reason: string | null
  wasHandedOver: boolean
  /** Whether something is still to be done for it. */
  isBusy: boolean
}

/** An account at two times: before the first fault, and at the end. */
export interface MailboxState {
  accountId: string
  /** The index, and what the provider has, in the same words. */
  index: string[]
  truth: string[]
  before: IndexState
  after: IndexState
  /** The last event of the feed before `before` was read. */
  afterEventId: string
}

/** The contacts of an account at the same two times. */
export interface ContactState {
  accountId: string
  /** The index, and what the CardDAV server has, in the same words: the name of each, a colon, and other fields. */
  index: string[]
  truth: string[]
  before: Map<string, Contact>
  after: Map<string, Contact>
  /** The last event of the feed before `before` was read. */
  afterEventId: string
}

/** The calendars of an account at the same two times. */
export interface CalendarState {
  accountId: string
  /** Start and subject of what takes place, in the index and at the provider. */
  index: string[]
  truth: string[]
  /** Singles, series and exceptions by their ids. */
  before: Map<string, CalendarEvent>
  after: Map<string, CalendarEvent>
  /** The feed of the calendars since `before` was read. */
  feed: Announced[]
}

/** A mail about a meeting, which has one guest. */
export interface InvitationState {
  eventId: string
}

export interface OwnerChange {
  accountId: string
  /** Milliseconds since the epoch. */
  at: number
  /** The process that owns the account from now on; null if none does. */
  owner: string | null
  /** The process that changed the row. */
  writer: string | null
  instanceId: string | null
  epoch: number
  /** The seconds that were left of the former owner's lease; null if it had none. */
  leaseSeconds: number | null
}

export interface Transition {
  kind: 'outbox' | 'account' | 'invitation'
  id: string
  from: string
  to: string
  reason: string | null
}

/** Things that must go back to where they were. */
export interface Resources {
  advisoryLocks: number
  preparedTransactions: number
  openTransactions: number
  /** Rows that are claimed by a process that is dead, by table. */
  deadClaims: string[]
  /** Files of the blob store that are neither whole nor named by a row. */
  orphanFiles: string[]
  /** Number of accounts that are followed, of all tenants. */
  activeAccounts: number
  processes: Array<{ name: string; openFiles: number; openFilesAtFirst: number; exitedBy: string | null }>
  /** For each key that was used, how many requests a process let be in flight at the end, of those that are allowed. */
  inFlight: Array<{ process: string; allowed: number; accepted: number }>
  /** Requests that Redis takes to be in progress while there is none. */
  leftInRedis: number
}
