import { davTestClient } from '../packages/server/test/servers/dav-client.ts'
import type { DavTestServer, DavTestUser } from '../packages/server/test/servers/dav-test-server.ts'

const TAGS = `<?xml version="1.0" encoding="utf-8"?>
<D:propfind xmlns:D="DAV:" xmlns:S="http://calendarserver.org/ns/"><D:prop><S:getctag/><D:sync-token/></D:prop></D:propfind>`

/** Creates a user of a Radicale with one address book of this many cards. */
export async function makeFullBook(server: DavTestServer, cards: number): Promise<DavTestUser> {
  const user = await server.addUser()
  const client = davTestClient(server, user)
  if (cards === 0) {
    await client.makeBook('people')
    return user
  }
  const body = Array.from({ length: cards }, (_, nth) => cardOf(`card-${nth}`, nth)).join('')
  // Radicale takes a whole collection.
  const answer = await client.request('PUT', `${user.homePath}people/`, {
    headers: { 'content-type': 'text/vcard; charset=utf-8' },
    body,
  })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  await answer.arrayBuffer()
  // Radicale reads each card once before it knows the tag of the book, which takes longer than the service waits.
  const told = await client.request('PROPFIND', user.homePath, { headers: { depth: '1' }, body: TAGS })
  await told.arrayBuffer()
  return user
}

/** A card of about 400 bytes, such as people keep. */
export function cardOf(uid: string, nth: number): string {
  const [given, family] = [`Given${nth % 211}`, `Family${nth % 1_009}`]
  return [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `UID:${uid}`,
    `FN:${given} ${family} ${nth}`,
    `N:${family};${given};;;`,
    `EMAIL;TYPE=WORK:${given}.${family}.${nth}@example.org`,
    `EMAIL;TYPE=HOME:${nth}@example.com`,
    `TEL;TYPE=CELL:+1 555 ${String(nth).padStart(7, '0')}`,
    `ORG:Company ${nth % 97};Department ${nth % 13}`,
    `TITLE:Engineer`,
    `NOTE:Met at the conference of ${1990 + (nth % 35)}.`,
    'END:VCARD',
    '',
  ].join('\r\n')
}
