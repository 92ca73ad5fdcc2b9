import { addDefaultCalendar } from './calendars.ts'
import { addDefaultContacts } from './contacts.ts'
import { addDefaultFolders } from './default-folders.ts'
import { storeOf } from './ids.ts'
import type { Mailbox } from './mailbox.ts'

/** An empty mailbox with the folders that Exchange makes. */
export function newMailbox(email: string, name: string, now: () => number): Mailbox {
  const begun: Omit<Mailbox, 'contacts' | 'calendars'> = {
    email,
    name,
    now,
    store: storeOf(email),
    byId: new Map(),
    ordered: [],
    byChange: new Set(),
    searches: new Map(),
    byInternetId: new Map(),
    folders: new Map(),
    wellKnown: new Map(),
    hierarchyLog: new Map(),
    categories: new Map(),
    timeZone: 'UTC',
    keepsDeclined: false,
    listeners: new Set(),
    expiredLinks: { next: 0, delta: 0 },
    generations: new Map(),
    made: 0,
    lastChange: 0,
    logsArrival: () => true,
  }
  // Contacts and calendars, which are numbered after the folders of mail, are added last.
  const mailbox = begun as Mailbox
  addDefaultFolders(mailbox)
  addDefaultContacts(mailbox)
  addDefaultCalendar(mailbox)
  return mailbox
}
