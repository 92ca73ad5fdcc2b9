import type { z } from 'zod'
import type { imapAccountInput } from './accounts/account-inputs.ts'
import type { Account } from './accounts/accounts.ts'
import type { foundServers } from './accounts/autoconfig.ts'
import {
  booking,
  calendar,
  calendarEvent,
  calendarEventWithBody,
  contact,
  dataExport,
  meetingConnection,
} from './calendar-examples.ts'
import type { ChangeEvent, EventData } from './events.ts'
import { ACCOUNT_ID, ADA, GRACE } from './example-people.ts'
import type { Identity, SignatureInput } from './mail/identities.ts'
import type { Mailbox } from './mail/mailboxes.ts'
import type { Classification, Message, MessageSummary } from './mail/messages.ts'
import type { TenantSettings, TenantSettingsInput } from './accounts/settings.ts'
import type { MergeItem } from './sending/mail-merges.ts'
import type { OutboxEntry } from './sending/outbox.ts'
import type { SendTracking } from './sending/tracking.ts'
import type { RenderedTemplate, Template, TemplateSummary } from './sending/templates.ts'
import type { SuppressionEntry, SuppressionList, SuppressionReview } from './sending/suppressions.ts'
import type { Thread, ThreadSummary } from './mail/threads.ts'

const INBOX_ID = '01a1fc14-6a02-7b1e-8c44-0f6f4f0e2a11'
const MESSAGE_ID = '01a1fc15-0c9b-7d0a-a4f7-3f5b1c2d9e22'
const MERGE_ID = '01a1fc2f-1b3c-7d02-a4f5-6c7d8e9f0a1b'
const OUTBOX_ID = '01a1fc2e-2f4d-7c11-9e0a-8b6d5a4c3f21'

const settings = {
  bodyStorage: 'cache',
  syncWindowDays: 90,
  calendarEnabled: false,
  contactsEnabled: false,
  undoSendSeconds: 0,
  trackOpens: false,
  trackClicks: false,
  trackingHoneypot: false,
} as const

export const account: Account = {
  id: ACCOUNT_ID,
  externalRef: 'user-4711',
  provider: 'imap',
  email: 'ada@example.com',
  displayName: 'Ada Lovelace',
  oauthAppId: null,
  cloud: null,
  status: 'active',
  statusReason: null,
  settings,
  settingsOverride: {},
  runtime: {
    state: 'live',
    detail: null,
    ownerInstanceId: '01a1fc10-1111-7aaa-8bbb-1234567890ab',
    updatedAt: '2026-11-21T09:31:02.117Z',
  },
  imap: {
    imap: { host: 'imap.example.com', port: 993, security: 'tls', user: 'ada@example.com' },
    smtp: { host: 'smtp.example.com', port: 465, security: 'tls', user: 'ada@example.com' },
    auth: 'password',
    appendSent: true,
    dav: null,
  },
  auth: { method: 'password' },
  initializedAt: '2026-11-21T09:30:41.508Z',
  calendarInitializedAt: null,
  contactsInitializedAt: null,
  createdAt: '2026-11-21T09:30:00.000Z',
  updatedAt: '2026-11-21T09:30:41.508Z',
}

export const mailbox: Mailbox = {
  id: INBOX_ID,
  name: 'INBOX',
  path: 'INBOX',
  parentId: null,
  role: 'inbox',
  kind: 'folder',
  totalCount: 1204,
  unreadCount: 3,
}

const messageSummary: MessageSummary = {
  id: MESSAGE_ID,
  threadId: MESSAGE_ID,
  internetMessageId: '<figures.1@example.org>',
  mailboxIds: [INBOX_ID],
  subject: 'Quarterly figures',
  from: GRACE,
  to: [ADA],
  cc: [],
  snippet: 'Here are the figures. Do they fit what you computed?',
  receivedAt: '2026-11-21T08:14:09.000Z',
  sentAt: '2026-11-21T08:14:07.000Z',
  isRead: false,
  isFlagged: false,
  isDraft: false,
  hasAttachments: true,
  categories: [],
  direction: 'inbound',
  outboxId: null,
  reference: null,
  importance: 'normal',
}

const message: Message = {
  ...messageSummary,
  bcc: [],
  replyTo: [],
  body: { text: 'Here are the figures. Do they fit what you computed?\n', html: null },
  attachments: [
    {
      id: '2',
      filename: 'figures.pdf',
      contentType: 'application/pdf',
      size: 48_213,
      isInline: false,
      contentId: null,
    },
  ],
  classification: null,
}

const threadSummary: ThreadSummary = {
  id: MESSAGE_ID,
  subject: 'Quarterly figures',
  snippet: messageSummary.snippet,
  participants: [GRACE, ADA],
  messageCount: 1,
  unreadCount: 1,
  isFlagged: false,
  hasAttachments: true,
  hasDrafts: false,
  mailboxIds: [INBOX_ID],
  latestMessageId: MESSAGE_ID,
  lastMessageAt: messageSummary.receivedAt,
}

const thread: Thread = { ...threadSummary, messages: [messageSummary] }

export const classification: Classification = {
  kind: 'auto_reply',
  probabilities: { auto_reply: 1 },
  optOutProbability: 0,
  autoReplyCategory: 'out_of_office',
  returnDate: '2026-11-30',
  alternateContacts: [],
  outboxId: OUTBOX_ID,
  model: 'rules',
  classifiedAt: '2026-11-21T08:14:11.020Z',
}

export const announcedMessage: EventData<'message.created'> = {
  message: messageSummary,
  mailboxes: [{ id: INBOX_ID, name: 'INBOX', path: 'INBOX', role: 'inbox', kind: 'folder' }],
}

const changeEvent: ChangeEvent = {
  id: '8231',
  type: 'message.created',
  accountId: ACCOUNT_ID,
  createdAt: '2026-11-21T08:14:10.204Z',
  data: announcedMessage,
}

const mergeItem: MergeItem = {
  index: 0,
  address: GRACE.address,
  mailMergeId: MERGE_ID,
  outboxId: OUTBOX_ID,
  error: null,
}

export const outboxEntry: OutboxEntry = {
  id: OUTBOX_ID,
  accountId: ACCOUNT_ID,
  status: 'queued',
  from: ADA,
  to: [GRACE],
  cc: [],
  bcc: [],
  replyTo: [],
  subject: 'Re: Quarterly figures',
  snippet: 'They do. Thank you.',
  hasAttachments: false,
  size: 1204,
  importance: null,
  inReplyTo: MESSAGE_ID,
  draftId: null,
  templateId: null,
  listId: null,
  mailMergeId: null,
  reference: 'ticket-815',
  trackOpens: false,
  trackClicks: false,
  internetMessageId: `<${OUTBOX_ID}.5f3b1c2d@example.com>`,
  messageId: null,
  threadId: MESSAGE_ID,
  sendAt: '2026-11-21T10:00:00.000Z',
  attempts: 0,
  nextAttemptAt: '2026-11-21T10:00:00.000Z',
  lastError: null,
  rejectedRecipients: [],
  sentAt: null,
  createdAt: '2026-11-21T09:45:12.118Z',
  updatedAt: '2026-11-21T09:45:12.118Z',
}

const templateSummary: TemplateSummary = {
  id: '01a1fc30-7b1e-7a40-8c02-5e9d1f3a7c44',
  accountId: null,
  name: 'order-shipped',
  description: 'Sent when an order leaves the warehouse.',
  source: 'handlebars',
  externalRef: null,
  createdAt: '2026-11-21T09:40:00.000Z',
  updatedAt: '2026-11-21T09:40:00.000Z',
}

const templateFields = {
  subject: 'Your order {{params.number}} is on its way',
  html: '<p>Hello {{params.name}},</p><p>your order {{params.number}} is on its way.</p>',
  text: null,
  previewText: 'It arrives on {{params.day}}.',
}

const template: Template = { ...templateSummary, ...templateFields, format: 'html' }

const params = { name: 'Grace', number: 4711, day: 'Friday' }

const renderedTemplate: RenderedTemplate = {
  subject: 'Your order 4711 is on its way',
  html: '<div style="display:none">It arrives on Friday.</div><p>Hello Grace,</p><p>your order 4711 is on its way.</p>',
  text: null,
  previewText: 'It arrives on Friday.',
}

const tenantSettings: TenantSettings = {
  ...settings,
  optOutHandling: 'review',
  eventRetentionDays: 30,
  redirectUris: ['https://app.example.com/connected'],
  aiReplyClassification: false,
  mcpSendPolicy: {
    mode: 'confirm',
    allowedRecipientDomains: null,
    dailySendLimit: null,
    externalRecipientConfirmation: false,
  },
}

const found: z.infer<typeof foundServers> = {
  source: 'provider',
  imap: { host: 'imap.example.com', port: 993, security: 'tls', user: 'ada@example.com' },
  smtp: { host: 'smtp.example.com', port: 465, security: 'tls', user: 'ada@example.com' },
  oauth: null,
  dav: null,
}

const imapAccount: z.input<typeof imapAccountInput> = {
  email: 'ada@example.com',
  password: 'an app password',
  imap: { host: 'imap.example.com', port: 993 },
  smtp: { host: 'smtp.example.com', port: 465 },
}

const settingsChange: TenantSettingsInput = { bodyStorage: 'full', syncWindowDays: 365 }

const signature = {
  html: '<p>Ada Lovelace<br>Sales</p>',
  text: 'Ada Lovelace\nSales',
} satisfies SignatureInput

const identity: Identity = {
  id: '01a1fc16-2b7d-7e11-9a0c-6f0d3c5b8e33',
  name: 'Sales',
  address: 'sales@example.com',
  source: 'custom',
  signature,
  providerSignature: null,
}

const sendTracking: SendTracking = {
  trackOpens: true,
  trackClicks: true,
  opens: {
    count: 1,
    machineCount: 1,
    firstAt: '2026-03-02T09:15:04.120Z',
    lastAt: '2026-03-02T09:15:04.120Z',
  },
  clicks: {
    count: 1,
    machineCount: 0,
    firstAt: '2026-03-02T09:15:20.533Z',
    lastAt: '2026-03-02T09:15:20.533Z',
    links: [{ url: 'https://example.com/offer', count: 1 }],
  },
  items: [
    {
      type: 'click',
      url: 'https://example.com/offer',
      isMachine: false,
      ip: null,
      userAgent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Firefox/146.0',
      occurredAt: '2026-03-02T09:15:20.533Z',
    },
    {
      type: 'open',
      url: null,
      isMachine: false,
      ip: null,
      userAgent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Firefox/146.0',
      occurredAt: '2026-03-02T09:15:04.120Z',
    },
    {
      type: 'open',
      url: null,
      isMachine: true,
      ip: null,
      userAgent: 'Mozilla/5.0',
      occurredAt: '2026-03-02T09:00:02.871Z',
    },
  ],
}

const suppressionList: SuppressionList = {
  id: 'newsletter',
  name: 'Newsletter',
  description: null,
  count: 3,
  counts: { unsubscribe: 2, bounce: 0, api: 1, reply: 0, complaint: 0, inactive: 0 },
  createdAt: '2026-11-21T09:30:00.000Z',
}

export const suppressionEntry: SuppressionEntry = {
  address: 'grace@example.org',
  source: 'unsubscribe',
  reason: 'Unsubscribed by the link of a message.',
  createdAt: '2026-11-21T10:12:45.310Z',
}

const suppressionReview: SuppressionReview = {
  id: '01a1fc3a-4b1d-7f02-8c3e-5d2b7a9f1e44',
  listId: 'newsletter',
  address: 'grace@example.org',
  source: 'reply',
  accountId: ACCOUNT_ID,
  messageId: MESSAGE_ID,
  probability: 0.95,
  alternateContacts: [],
  createdAt: '2026-11-21T10:12:45.310Z',
}

/** Examples of the named schemas, for the OpenAPI document. */
export const schemaExamples: Record<string, unknown> = {
  Account: account,
  Address: GRACE,
  Autoconfig: found,
  Booking: booking,
  Calendar: calendar,
  CalendarEvent: calendarEvent,
  CalendarEventWithBody: calendarEventWithBody,
  ChangeEvent: changeEvent,
  Contact: contact,
  Export: dataExport,
  Identity: identity,
  Mailbox: mailbox,
  MailSettings: { signByDefault: true },
  MailMergeItem: mergeItem,
  MeetingConnection: meetingConnection,
  Message: message,
  MessageSummary: messageSummary,
  OutboxEntry: outboxEntry,
  SendTracking: sendTracking,
  SearchResult: messageSummary,
  Signature: signature,
  RenderedTemplate: renderedTemplate,
  Template: template,
  TemplateSummary: templateSummary,
  SuppressionEntry: suppressionEntry,
  SuppressionList: suppressionList,
  SuppressionReview: suppressionReview,
  TenantSettings: tenantSettings,
  Thread: thread,
  ThreadSummary: threadSummary,
}

/** Example request bodies, by operation. */
export const bodyExamples: Record<string, unknown> = {
  'accounts.createImap': imapAccount,
  'accounts.createToken': { ttlSeconds: 600, scopes: ['read'] },
  'accounts.sync': { kinds: ['mail'] },
  'accounts.update': { status: 'paused' },
  'accounts.updateImapSettings': { password: 'a new app password' },
  'drafts.create': { to: [GRACE], subject: 'Notes', text: 'Dear Grace,\n' },
  'drafts.send': { undoSendSeconds: 10 },
  'drafts.replace': { to: [GRACE], subject: 'Notes', text: 'Dear Grace,\n\nthank you.\n' },
  'identities.create': { name: 'Sales', address: 'sales@example.com', signature },
  'identities.update': { signature },
  'mailSettings.update': { signByDefault: true },
  'mailMerges.create': {
    subject: 'Notes',
    text: 'Dear reader,\n',
    intervalSeconds: 2,
    entries: [{ to: GRACE, reference: 'reader-1' }],
  },
  'outbox.create': {
    to: [GRACE],
    inReplyTo: MESSAGE_ID,
    text: 'They do. Thank you.\n',
    reference: 'ticket-815',
  },
  'outbox.reschedule': { sendAt: '2026-11-21T10:00:00Z' },
  'settings.update': settingsChange,
  'templates.create': { name: 'order-shipped', ...templateFields },
  'templates.update': { previewText: 'It arrives soon.' },
  'templateRenders.create': { templateId: template.id, params },
  'suppressions.addEntries': { addresses: ['grace@example.org'], reason: 'Asked by phone' },
  'suppressions.create': { id: 'newsletter', name: 'Newsletter' },
  'suppressions.update': { description: 'The letter of the first Monday of each month' },
}
