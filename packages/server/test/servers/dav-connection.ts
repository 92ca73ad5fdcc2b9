import type { DavTestServer, DavTestUser } from './dav-test-server.ts'
import type { MailServer, TestUser } from './mail-server.ts'

interface DavSide {
  dav: DavTestServer
  davUser: DavTestUser
  /** The URL that is connected besides mail. */
  half: 'calendarUrl' | 'contactsUrl'
}

/** The body that connects a mailbox together with the calendars or the contacts of a DAV server. */
export function connectionWithDav(
  { host, port }: Pick<MailServer, 'host' | 'port'>,
  user: TestUser,
  { dav, davUser, half }: DavSide,
): Record<string, unknown> {
  return {
    email: user.email,
    password: user.password,
    imap: { host, port, security: 'none', user: user.user },
    smtp: null,
    dav: {
      contactsUrl: null,
      calendarUrl: null,
      [half]: dav.url.href,
      user: davUser.user,
      password: davUser.password,
    },
  }
}
