import ICAL from 'ical.js'
import type { DavTestClient } from '../servers/dav-client.ts'
import type { OtherContact, OtherContacts } from './other-contacts.ts'

const GONE = [404, 410]
const CHANGED_MEANWHILE = 412
const TRIES_MAX = 20

/** A client of CardDAV that adds to one address book, and changes the cards of all. */
export function davContacts(client: DavTestClient, homePath: string, addressBook: string): OtherContacts {
  let made = 0

  /** The paths of the members of a collection. */
  async function membersOf(path: string): Promise<string[]> {
    const answer = await client.request('PROPFIND', path, { headers: { depth: '1' } })
    const text = await answer.text()
    if (answer.status !== 207) throw new Error(`PROPFIND ${path}: ${answer.status} ${text}`)
    const hrefs = [...text.matchAll(/<(?:\w+:)?href[^>]*>([^<]+)<\//g)].map(
      ([, href = '']) => new URL(href, 'http://dav.test/').pathname,
    )
    return [...new Set(hrefs)].filter(href => href.startsWith(path) && href !== path)
  }

  async function read(path: string): Promise<{ text: string; etag: string } | null> {
    const answer = await client.request('GET', path)
    const text = await answer.text()
    if (GONE.includes(answer.status)) return null
    const etag = answer.headers.get('etag')
    if (!answer.ok || etag === null) throw new Error(`GET ${path}: ${answer.status} ${text}`)
    return { text, etag }
  }

  async function readAll(): Promise<Array<OtherContact & { path: string }>> {
    const books = (await membersOf(homePath)).filter(path => path.endsWith('/'))
    const contacts: Array<OtherContact & { path: string }> = []
    // One after the other: Radicale accepts few connections at once.
    for (const book of books)
      for (const path of await membersOf(book)) {
        const card = await read(path)
        if (card) contacts.push({ path, ...describe(card.text) })
      }
    return contacts
  }

  async function find(displayName: string): Promise<string | null> {
    return (await readAll()).find(contact => contact.displayName === displayName)?.path ?? null
  }

  return {
    async add(displayName) {
      await client.put(`${addressBook}other-${++made}.vcf`, cardOf(`other-${made}`, displayName))
    },
    async rename(from, to) {
      const path = await find(from)
      if (path === null) return false
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const card = await read(path)
        if (!card) return false
        const answer = await client.request('PUT', path, {
          headers: { 'content-type': 'text/vcard; charset=utf-8', 'if-match': card.etag },
          body: card.text.replace(`FN:${from}`, `FN:${to}`),
        })
        const text = await answer.text()
        if (answer.ok) return true
        if (![...GONE, CHANGED_MEANWHILE].includes(answer.status))
          throw new Error(`PUT ${path}: ${answer.status} ${text}`)
      }
      throw new Error(`${from} is changed too often`)
    },
    async remove(displayName) {
      const path = await find(displayName)
      if (path === null) return false
      const answer = await client.request('DELETE', path)
      const text = await answer.text()
      if (!answer.ok && !GONE.includes(answer.status))
        throw new Error(`DELETE ${path}: ${answer.status} ${text}`)
      return answer.ok
    },
    async list() {
      return (await readAll()).map(({ displayName, jobTitle }) => ({ displayName, jobTitle }))
    },
  }
}

function cardOf(uid: string, displayName: string): string {
  const lines = ['VERSION:3.0', `UID:${uid}`, `FN:${displayName}`, `N:${displayName};;;;`, 'X-KEPT:as it is']
  return ['BEGIN:VCARD', ...lines, 'END:VCARD', ''].join('\r\n')
}

function describe(card: string): OtherContact {
  const component = new ICAL.Component(ICAL.parse(card))
  const text = (name: string) => component.getFirstPropertyValue(name)?.toString() ?? null
  return { displayName: text('fn') ?? '', jobTitle: text('title') }
}
