import { accounts } from './accounts/accounts.ts'
import { availability } from './calendars/availability.ts'
import { auditLog } from './tenancy/audit-log.ts'
import { autoconfig } from './accounts/autoconfig.ts'
import { calendarEvents } from './calendars/calendar-events.ts'
import { calendars } from './calendars/calendars.ts'
import { contactFolders, contacts } from './contacts/contacts.ts'
import { connectSessions, hostedConnectSessions } from './accounts/connect-sessions.ts'
import { oauthApps } from './accounts/oauth-apps.ts'
import { changes } from './notifications/changes.ts'
import { drafts } from './sending/drafts.ts'
import { identities } from './mail/identities.ts'
import { integrity } from './integrity/integrity.ts'
import { mailboxes } from './mail/mailboxes.ts'
import { mailMerges } from './sending/mail-merges.ts'
import { mailSettings } from './mail/mail-settings.ts'
import { messages } from './mail/messages.ts'
import { outbox } from './sending/outbox.ts'
import { sharedMailboxes } from './accounts/shared-mailboxes.ts'
import { search } from './mail/search.ts'
import { suppressionReviews, suppressions } from './sending/suppressions.ts'
import { settings } from './accounts/settings.ts'
import { tracking } from './sending/tracking.ts'
import { templateRenders, templates } from './sending/templates.ts'
import { threads } from './mail/threads.ts'
import { webhooks } from './notifications/webhooks.ts'
import { webhookDeliveries } from './notifications/webhook-deliveries.ts'
import { usage } from './tenancy/usage.ts'

/** Every operation of the service, by section. */
export const contract = {
  accounts,
  sharedMailboxes,
  autoconfig,
  connectSessions,
  hostedConnectSessions,
  oauthApps,
  settings,
  mailboxes,
  messages,
  threads,
  search,
  identities,
  mailSettings,
  drafts,
  outbox,
  tracking,
  templates,
  templateRenders,
  mailMerges,
  suppressions,
  suppressionReviews,
  calendars,
  calendarEvents,
  availability,
  contacts,
  contactFolders,
  integrity,
  changes,
  webhooks,
  webhookDeliveries,
  auditLog,
  usage,
}
