import type { Feed } from './src/feed.ts'
import type { Operations } from './src/types.ts'

type NamesOf<Sections> = {
  [Section in keyof Sections & string]: Sections[Section] extends (...given: never[]) => unknown
    ? Section
    : `${Section}.${keyof Sections[Section] & string}`
}[keyof Sections & string]

/** The operations, such as `messages.update`; `openapi` has no section. */
export type OperationName = NamesOf<Operations & { changes: Pick<Feed, 'stream'> }>

/** The walks of `packages/server/test/sdk/walks`, each of which calls its operations on the service. */
export type Walk =
  | 'connecting'
  | 'account'
  | 'mail'
  | 'sending'
  | 'suppressions'
  | 'calendars'
  | 'contacts'
  | 'webhooks'
  | 'tenant'

/** For every operation, the walk that calls it. This does not compile while one is missing. */
export const COVERAGE = {
  'accounts.list': 'account',
  'accounts.connect': 'connecting',
  'accounts.get': 'account',
  'accounts.update': 'account',
  'accounts.delete': 'connecting',
  'accounts.sync': 'account',
  'accounts.createToken': 'account',
  'accounts.createImap': 'connecting',
  'accounts.updateImapSettings': 'account',
  'auditLog.list': 'tenant',
  'autoconfig.find': 'connecting',
  'availability.find': 'calendars',
  'availability.findShared': 'calendars',
  'calendarEvents.list': 'calendars',
  'calendarEvents.create': 'calendars',
  'calendarEvents.get': 'calendars',
  'calendarEvents.update': 'calendars',
  'calendarEvents.delete': 'calendars',
  'calendarEvents.respond': 'calendars',
  'calendars.list': 'calendars',
  'calendars.create': 'calendars',
  'calendars.update': 'calendars',
  'calendars.delete': 'calendars',
  'changes.list': 'tenant',
  'changes.stream': 'tenant',
  'connectSessions.create': 'connecting',
  'connectSessions.get': 'connecting',
  'connectSessions.authorize': 'connecting',
  'contactFolders.list': 'contacts',
  'contacts.list': 'contacts',
  'contacts.create': 'contacts',
  'contacts.get': 'contacts',
  'contacts.update': 'contacts',
  'contacts.delete': 'contacts',
  'contacts.photo': 'contacts',
  'drafts.create': 'sending',
  'drafts.replace': 'sending',
  'drafts.delete': 'sending',
  'drafts.send': 'sending',
  'hostedConnectSessions.get': 'connecting',
  'hostedConnectSessions.connectImap': 'connecting',
  'hostedConnectSessions.findServers': 'connecting',
  'identities.list': 'account',
  'identities.create': 'account',
  'identities.update': 'account',
  'identities.delete': 'account',
  'integrity.get': 'account',
  'mailMerges.create': 'sending',
  'mailSettings.get': 'account',
  'mailSettings.update': 'account',
  'mailboxes.list': 'mail',
  'mailboxes.create': 'mail',
  'mailboxes.update': 'mail',
  'mailboxes.delete': 'mail',
  'messages.list': 'mail',
  'messages.get': 'mail',
  'messages.update': 'mail',
  'messages.delete': 'mail',
  'messages.raw': 'mail',
  'messages.attachment': 'mail',
  'oauthApps.list': 'connecting',
  'oauthApps.create': 'connecting',
  'oauthApps.get': 'connecting',
  'oauthApps.update': 'connecting',
  'oauthApps.delete': 'connecting',
  openapi: 'tenant',
  'outbox.list': 'sending',
  'outbox.create': 'sending',
  'outbox.get': 'sending',
  'outbox.reschedule': 'sending',
  'outbox.cancel': 'sending',
  'outbox.release': 'sending',
  'search.messages': 'mail',
  'settings.get': 'tenant',
  'settings.update': 'tenant',
  'sharedMailboxes.add': 'connecting',
  'suppressionReviews.list': 'suppressions',
  'suppressionReviews.approve': 'suppressions',
  'suppressionReviews.dismiss': 'suppressions',
  'suppressions.list': 'suppressions',
  'suppressions.create': 'suppressions',
  'suppressions.update': 'suppressions',
  'suppressions.delete': 'suppressions',
  'suppressions.listEntries': 'suppressions',
  'suppressions.addEntries': 'suppressions',
  'suppressions.deleteEntry': 'suppressions',
  'templateRenders.create': 'sending',
  'templates.list': 'sending',
  'templates.create': 'sending',
  'templates.get': 'sending',
  'templates.update': 'sending',
  'templates.delete': 'sending',
  'threads.list': 'mail',
  'threads.get': 'mail',
  'threads.update': 'mail',
  'threads.delete': 'mail',
  'tracking.get': 'sending',
  'usage.get': 'tenant',
  'webhookDeliveries.listAttempts': 'webhooks',
  'webhookDeliveries.replay': 'webhooks',
  'webhookDeliveries.replayEvent': 'webhooks',
  'webhookDeliveries.countFailedDeliveries': 'webhooks',
  'webhookDeliveries.replayFailed': 'webhooks',
  'webhooks.list': 'webhooks',
  'webhooks.create': 'webhooks',
  'webhooks.update': 'webhooks',
  'webhooks.delete': 'webhooks',
  'webhooks.rotateSecret': 'webhooks',
  'webhooks.test': 'webhooks',
} as const satisfies Record<OperationName, Walk>
