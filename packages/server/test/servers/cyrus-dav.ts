import { type CyrusServer, startCyrusWithDav } from './cyrus.ts'
import type { DavTestServer } from './dav-test-server.ts'
import { openWitness } from './witness.ts'

/** Starts a Cyrus with CalDAV and CardDAV. Its namespace prefixes differ between answers. */
export async function startCyrusDav(): Promise<DavTestServer> {
  return davOf(await startCyrusWithDav())
}

/** The calendars and the address books of a Cyrus. Its users have mailboxes as well. */
export function davOf(server: CyrusServer): DavTestServer {
  return {
    kind: 'cyrus',
    url: new URL(`http://127.0.0.1:${server.davPort}/`),
    async addUser() {
      const user = await server.addUser()
      // Before the first login by IMAP there is nothing for DAV, either.
      await using _witness = await openWitness(server, user)
      return {
        ...user,
        homePath: `/dav/addressbooks/user/${user.user}/`,
        calendarHomePath: `/dav/calendars/user/${user.user}/`,
      }
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
