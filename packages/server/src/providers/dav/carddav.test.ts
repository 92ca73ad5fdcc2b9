import { randomUUID } from 'node:crypto'
import { afterAll, describe } from 'vitest'
import { startCyrusDav } from '../../../test/servers/cyrus-dav.ts'
import { davTestClient } from '../../../test/servers/dav-client.ts'
import type { DavTestServer } from '../../../test/servers/dav-test-server.ts'
import { startRadicale } from '../../../test/servers/radicale.ts'
import { startSabre } from '../../../test/servers/sabre.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { startXandikos } from '../../../test/servers/xandikos.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { egressGuard } from '../../kit/egress/guard.ts'
import { type ContactsArrangement, describeContacts, type WrittenContact } from '../conformance/contacts.ts'
import { cardDavAccount } from './carddav.ts'
import { pathOf } from './hrefs.ts'
import { openFileThread } from './file-thread.ts'
import { LoginSchemes } from './login.ts'

const files = openFileThread()
afterAll(() => files[Symbol.asyncDispose]())
const guard = egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) })

/** Cards that the other client stores at once. */
const PUTS_MAX = 8

/** A user of the server with one address book. */
async function arrange(server: DavTestServer): Promise<ContactsArrangement> {
  const user = await server.addUser()
  const client = davTestClient(server, user)
  // Cyrus makes one by itself.
  const book = server.kind === 'cyrus' ? `${user.homePath}Default/` : await client.makeBook('people')
  const home = new URL(user.homePath, server.url)
  const schemes = new LoginSchemes()
  return {
    world: {
      async add(contacts) {
        const paths = contacts.map(() => `${book}${randomUUID()}.vcf`)
        const cards = paths.map((path, index) => ({ path, card: cardOf(contacts[index]!) }))
        while (cards.length > 0)
          await Promise.all(cards.splice(0, PUTS_MAX).map(({ path, card }) => client.put(path, card)))
        return paths.map(path => pathOf(path, home)!)
      },
      async rename(key, { givenName, familyName }) {
        const card = await client.get(key)
        const renamed = card
          .replace(/^N:.*$/m, `N:${familyName};${givenName};;;`)
          .replace(/^FN:.*$/m, `FN:${givenName} ${familyName}`)
        await client.put(key, renamed)
      },
      remove: key => client.remove(key),
      async addFolder() {
        await client.makeBook('more', 'More &amp; more')
        return 'More & more'
      },
    },
    connect: async () =>
      cardDavAccount({
        home,
        login: { user: user.user, password: user.password },
        guard,
        files,
        authorities: undefined,
        schemes,
        signal: new AbortController().signal,
      }),
    spoil: cursor => ({ ...cursor, syncToken: 'urn:of-another-server', ctag: 'another' }),
    unknownKey: `${book}unknown.vcf`,
    contactsOfSteps: 101,
    async [Symbol.asyncDispose]() {},
  }
}

function cardOf({ givenName, familyName, email, photo }: WrittenContact): string {
  return [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `UID:${randomUUID()}`,
    `FN:${givenName} ${familyName}`,
    `N:${familyName};${givenName};;;`,
    `EMAIL;TYPE=HOME:${email}`,
    ...(photo ? [`PHOTO;ENCODING=b;TYPE=PNG:${photo.toString('base64')}`] : []),
    'END:VCARD',
    '',
  ].join('\r\n')
}

const KINDS = [
  { name: 'CardDAV on Radicale', start: startRadicale },
  { name: 'CardDAV on Xandikos', start: startXandikos },
  { name: 'CardDAV on sabre/dav', start: startSabre },
  { name: 'CardDAV on Cyrus', start: startCyrusDav },
]

describe.concurrent.each(KINDS)('$name', ({ name, start }) => {
  const server = useServer(start)
  describeContacts(name, () => arrange(server()))
})
