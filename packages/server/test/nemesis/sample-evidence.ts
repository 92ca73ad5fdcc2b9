import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { Announced } from '../calendars/calendar-feed.ts'
import type { FeedEvent } from '../sync/followed-account.ts'
import type { IndexState } from '../sync/fold-feed.ts'
import type {
  CalendarState,
  ContactState,
  DeletedAccount,
  EndState,
  Evidence,
  MailboxState,
} from './evidence.ts'
import type {
  BodyEntry,
  FaultEntry,
  HistoryEntry,
  PageEntry,
  RequestEntry,
  SessionEntry,
  WebhookEntry,
} from './history.ts'

/** The evidence of a short run in which every promise was kept. Each test breaks one of them. */
export interface SampleEvidence extends Evidence {
  history: HistoryEntry[]
  end: EndState
}

const ACCOUNT = 'account-1'
/** An account of Graph. */
const GRAPH_ACCOUNT = 'account-3'

export function sampleEvidence(): SampleEvidence {
  const feed = [
    sampleEvent('1', 'account.connected'),
    sampleEvent('2', 'message.created', { message: sampleMessage('m2') }),
    sampleEvent('3', 'message.updated', {
      message: sampleMessage('m1', { isRead: true }),
      changes: ['isRead'],
    }),
    sampleEvent('4', 'message.deleted', { message: sampleMessage('m2') }),
    sampleEvent('5', 'send.sent', { outbox: { id: 'send-1' } } as FeedEvent['data']),
    sampleEvent('6', 'send.failed', { outbox: { id: 'send-2' } } as FeedEvent['data']),
    sampleEvent('7', 'account.reauth_required'),
  ]
  const ids = feed.map(({ id }) => id)
  return {
    history: [
      sampleRequest({ requestId: 'r1', key: 'key-1', madeId: 'send-1' }),
      sampleRequest({ requestId: 'r2', key: 'key-1', madeId: 'send-1', isReplay: true }),
      sampleRequest({ requestId: 'r3', key: 'key-2', status: null, outcome: 'unknown' }),
      sampleRequest({ requestId: 'r4', key: 'key-2', madeId: 'send-2' }),
      sampleRequest({
        requestId: 'r5',
        method: 'PATCH',
        path: '/v1/accounts/account-1/messages/m1',
        mark: { accountId: ACCOUNT, subject: 'one', field: 'isRead', value: true },
      }),
      ...[0, 1].map(nth =>
        sampleRequest({
          actor: 'limited client',
          requestId: `limited ${nth}`,
          method: 'GET',
          path: '/v1/accounts',
          window: { limit: 2, remaining: 1 - nth, resetSeconds: 59 },
        }),
      ),
      samplePage('poller', ids.slice(0, 3)),
      samplePage('poller', ids.slice(3)),
      ...ids.map(id => sampleWebhook(id)),
      sampleBody(),
      sampleSession({ process: 'one', from: 0, at: 20_000 }),
      sampleSession({ process: 'two', from: 15_000, at: 60_000 }),
    ],
    end: {
      events: feed.map(({ id, type, accountId }) => ({ id, type, accountId, createdAt: Number(id) })),
      feed,
      endpoints: [{ name: 'e1', createdAt: 0, fromEventId: '0', isEnabled: true, isSteady: true }],
      deliveries: [],
      outbox: [
        sampleSend('send-1', 'key-1', { status: 'sent' }),
        sampleSend('send-2', 'key-2', { status: 'failed', reason: 'outcome_unknown' }),
        sampleSend('send-3', 'key-3', { status: 'sent' }),
      ],
      accepted: [
        { messageId: '<send-1>', by: 'the SMTP server' },
        { messageId: '<send-2>', by: 'the SMTP server' },
        { messageId: '<send-3>', by: 'Microsoft Graph' },
      ],
      mailboxes: [sampleMailbox(), sampleGraphMailbox()],
      contacts: [sampleContacts()],
      calendars: [sampleCalendars()],
      invitations: [{ eventId: 'meeting-1' }],
      flags: [{ accountId: ACCOUNT, subject: 'one', isRead: true, isFlagged: false }],
      owners: [
        owner({ instanceId: 'i1', owner: 'one', epoch: 1, writer: 'one' }),
        owner({ epoch: 1, leaseSeconds: 8, writer: 'one' }),
        owner({ instanceId: 'i2', owner: 'two', epoch: 2, writer: 'two' }),
        owner({ epoch: 2, leaseSeconds: -2, writer: 'one' }),
        owner({ instanceId: 'i3', owner: 'one', epoch: 3, writer: 'one' }),
      ],
      staleWrites: [],
      outboxStates: [{ status: 'sent', phase: null, task: null }],
      transitions: [
        { kind: 'outbox', id: 'send-1', from: 'queued', to: 'sending', reason: null },
        { kind: 'outbox', id: 'send-1', from: 'sending', to: 'sent', reason: null },
        { kind: 'outbox', id: 'send-2', from: 'sending', to: 'failed', reason: 'outcome_unknown' },
        { kind: 'account', id: ACCOUNT, from: 'active', to: 'reauth_required', reason: null },
        { kind: 'account', id: ACCOUNT, from: 'reauth_required', to: 'active', reason: null },
      ],
      audit: { rows: ['r1', 'r3', 'r4', 'r5'].map(requestId => ({ requestId, status: 200 })), findings: 0 },
      resources: {
        advisoryLocks: 0,
        preparedTransactions: 0,
        openTransactions: 0,
        deadClaims: [],
        orphanFiles: [],
        activeAccounts: 2,
        processes: [{ name: 'one', openFiles: 80, openFilesAtFirst: 50, exitedBy: null }],
        inFlight: [{ process: 'one', allowed: 16, accepted: 16 }],
        leftInRedis: 0,
      },
      deleted: [sampleDeleted()],
      windows: { keeper: 'redis', isCounted: true },
      loneFollower: null,
      neighbours: [{ id: 'neighbour-1', seconds: 2 }],
      timesAhead: [],
      bounds: { shared: 10, unowned: 30, neighbour: 20 },
    },
  }
}

export function sampleRequest(given: Partial<RequestEntry> = {}): RequestEntry {
  return {
    type: 'request',
    from: 1_000,
    at: 1_100,
    actor: 'sender',
    requestId: 'r',
    method: 'POST',
    path: '/v1/accounts/account-1/outbox',
    status: 200,
    outcome: 'ok',
    code: null,
    key: null,
    isReplay: false,
    madeId: null,
    window: null,
    mark: null,
    contact: null,
    event: null,
    ...given,
  }
}

export function samplePage(reader: string, ids: string[]): PageEntry {
  return { type: 'page', from: 0, at: 1, reader, ids }
}

export function sampleWebhook(eventId: string, given: Partial<WebhookEntry> = {}): WebhookEntry {
  return {
    type: 'webhook',
    from: 0,
    at: 1,
    endpoint: 'e1',
    webhookId: eventId,
    eventId,
    digest: `digest of ${eventId}`,
    status: 204,
    ...given,
  }
}

export function sampleSession(given: Partial<SessionEntry>): SessionEntry {
  return { type: 'session', user: 'ada', process: 'one', from: 0, at: 1, ...given }
}

export function sampleStop(process: string, from: number, at: number): FaultEntry {
  return { type: 'fault', kind: 'stop_process', process, from, at, about: '' }
}

export function sampleEvent(id: string, type: string, data: FeedEvent['data'] = {}): FeedEvent {
  return { id, type, accountId: ACCOUNT, data }
}

export function sampleContact(id: string, displayName: string, given: Partial<Contact> = {}): Contact {
  // Checks look at no other fields than these.
  return { id, displayName, nickname: null, notes: null, ...given } as Contact
}

export function sampleContactEvent(id: string, type: string, contact: Contact): FeedEvent {
  return sampleEvent(id, type, { contact })
}

function sampleContacts(): ContactState {
  const contacts = [sampleContact('c1', 'Card 1'), sampleContact('c2', 'Made 1')]
  const state = () => new Map(contacts.map(contact => [contact.id, contact]))
  const lines = ['Card 1: , ', 'Made 1: , ']
  return {
    accountId: ACCOUNT,
    index: lines,
    truth: [...lines],
    before: state(),
    after: state(),
    afterEventId: '1',
  }
}

/** A single, of which checks look at no other fields than these. */
export function sampleCalendarEvent(
  id: string,
  subject: string,
  given: Partial<CalendarEvent> = {},
): CalendarEvent {
  return { id, subject, kind: 'single', seriesId: null, location: null, ...given } as CalendarEvent
}

export function sampleAnnounced(type: string, event: CalendarEvent, changes?: string[]): Announced {
  return { type: `calendar_event.${type}`, event, ...(changes && { changes }) }
}

function sampleCalendars(): CalendarState {
  const events = [sampleCalendarEvent('v1', 'Added 1'), sampleCalendarEvent('v2', 'Kept 1')]
  const state = () => new Map(events.map(event => [event.id, event]))
  const lines = ['20261201T090000Z Added 1', '20261202T090000Z Kept 1']
  return { accountId: ACCOUNT, index: lines, truth: [...lines], before: state(), after: state(), feed: [] }
}

export function sampleMessage(id: string, given: Partial<MessageSummary> = {}): MessageSummary {
  // Checks look at no other fields than these.
  return { id, subject: id, isRead: false, isFlagged: false, mailboxIds: ['b1'], ...given } as MessageSummary
}

function sampleSend(id: string, key: string, given: Partial<EndState['outbox'][number]>) {
  return {
    id,
    key,
    internetMessageId: `<${id}>`,
    status: 'sent',
    reason: null,
    wasHandedOver: true,
    isBusy: false,
    ...given,
  }
}

export function sampleBody(given: Partial<BodyEntry> = {}): BodyEntry {
  const digests = { digest: 'digest of one', sentDigest: 'digest of one' }
  return { type: 'body', from: 0, at: 1, accountId: ACCOUNT, subject: 'one', ...digests, ...given }
}

function sampleDeleted(): DeletedAccount {
  const events = ['account.connected', 'message.created', 'account.deleted', 'account.purged']
  return { accountId: 'account-9', tablesLeft: [], acceptedCount: 0, events, isFollowed: false }
}

function owner(given: Partial<EndState['owners'][number]>): EndState['owners'][number] {
  const nobody = { owner: null, writer: null, instanceId: null, epoch: 0, leaseSeconds: null }
  return { accountId: 'account-2', at: 0, ...nobody, ...given }
}

function sampleMailbox(): MailboxState {
  const inbox = { id: 'b1', path: 'INBOX', totalCount: 1, unreadCount: 1 } as Mailbox
  const state = (...messages: MessageSummary[]): IndexState => ({
    mailboxes: new Map([[inbox.id, inbox]]),
    messages: new Map(messages.map(message => [message.id, message])),
  })
  return {
    accountId: ACCOUNT,
    index: ['INBOX: one \\Seen'],
    truth: ['INBOX: one \\Seen'],
    before: state(sampleMessage('m1')),
    after: state(sampleMessage('m1', { isRead: true })),
    afterEventId: '1',
  }
}

function sampleGraphMailbox(): MailboxState {
  const { before } = sampleMailbox()
  const lines = ['INBOX: one ']
  return {
    accountId: GRAPH_ACCOUNT,
    index: lines,
    truth: [...lines],
    before,
    after: { ...before, messages: new Map(before.messages) },
    afterEventId: '7',
  }
}
