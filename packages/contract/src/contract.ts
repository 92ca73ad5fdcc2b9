import { accounts } from './accounts/accounts.ts'
import { autoconfig } from './accounts/autoconfig.ts'
import { changes } from './notifications/changes.ts'
import { drafts } from './sending/drafts.ts'
import { identities } from './mail/identities.ts'
import { mailboxes } from './mail/mailboxes.ts'
import { mailMerges } from './sending/mail-merges.ts'
import { mailSettings } from './mail/mail-settings.ts'
import { messages } from './mail/messages.ts'
import { outbox } from './sending/outbox.ts'
import { search } from './mail/search.ts'
import { suppressionReviews, suppressions } from './sending/suppressions.ts'
import { settings } from './accounts/settings.ts'
import { tracking } from './sending/tracking.ts'
import { templateRenders, templates } from './sending/templates.ts'
import { threads } from './mail/threads.ts'

/** Every operation of the service, by section. */
export const contract = {
  accounts,
  autoconfig,
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
  changes,
}
