import type { MailServer } from './mail-server.ts'

/** The servers of an address, as far as they can be found without logging in. */
export interface FoundServers {
  source: 'provider' | 'autoconfig' | 'ispdb' | 'srv' | 'mx'
  imap: MailServer
  smtp: MailServer | null
  /** The provider that offers OAuth sign-in at these servers besides a password. */
  oauth: 'google' | 'microsoft' | null
  dav: {
    source: 'provider' | 'srv' | 'well_known'
    calendarUrl: string | null
    contactsUrl: string | null
  } | null
}

/** Searches for the servers of an address. Null if none are found; never throws because of an answer. */
export interface ServerSearch {
  find(email: string): Promise<FoundServers | null>
}
