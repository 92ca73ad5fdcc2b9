import type { MailServer } from './sign-in.ts'

/** The servers of an address, as far as they are known without logging in. */
export interface FoundServers {
  source: 'provider' | 'autoconfig' | 'ispdb' | 'srv' | 'mx'
  imap: MailServer
  smtp: MailServer | null
  /** Who signs users in at these servers besides a password. */
  oauth: 'google' | 'microsoft' | null
  dav: {
    source: 'provider' | 'srv' | 'well_known'
    calendarUrl: string | null
    contactsUrl: string | null
  } | null
}

/** Looks for the servers of an address. Null where none are found; never throws for what the outside answers. */
export interface ServerSearch {
  find(email: string): Promise<FoundServers | null>
}
