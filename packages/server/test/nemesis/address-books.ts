import type { Random } from '../seeded.ts'
import { type DavTestClient, davTestClient } from '../servers/dav-client.ts'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.ts'
import { startRadicale } from '../servers/radicale.ts'
import { describeCard, fieldOf, unfold } from './cards.ts'
import { openDavCalendars, type RunCalendars } from './run-calendars.ts'

/** The number of kinds of accounts that have contacts: the first ones in the list of each provider. */
export const KINDS_WITH_BOOKS = 2
export const CARDS = 5
export const CARDS_MAX = 40
const QUERY = `<?xml version="1.0" encoding="utf-8"?>
<C:addressbook-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:carddav"><D:prop><C:address-data/></D:prop><C:filter/></C:addressbook-query>`

/** The contacts of one account at its provider. */
export interface AddressBook {
  /** All its cards in words, read past the proxy. */
  readCards(): Promise<string[]>
  /** Changes one card, as another program of its owner does, or adds one. */
  act(): Promise<unknown>
}

/** The address book of one account at the DAV server, and its calendars. */
export interface DavBook extends AddressBook {
  /** Null if the account has none. */
  calendars: RunCalendars | null
  /** The part of the body that connects an account with them, by the proxy. */
  dav: Record<string, unknown>
}

/** The server of address books and calendars of a run, behind a proxy. */
export interface AddressBooks extends AsyncDisposable {
  proxy: FaultProxy
  /** Adds a user with one address book and some cards, and with calendars if asked for. */
  open(random: Random, given: { hasCalendars: boolean }): Promise<DavBook>
}

export async function openAddressBooks(): Promise<AddressBooks> {
  await using opened = new AsyncDisposableStack()
  const server = opened.use(await startRadicale())
  const { hostname: host, port } = server.url
  const proxy = opened.use(await startFaultProxy({ host, port: Number(port) }))
  const owned = opened.move()
  return {
    proxy,
    async open(random, { hasCalendars }) {
      const user = await server.addUser()
      const client = davTestClient(server, user)
      const path = await client.makeBook('people', 'People')
      let made = 0
      const add = () => addCard(client, path, ++made, random)
      for (let count = 0; count < CARDS; count++) await add()
      const calendars = hasCalendars ? await openDavCalendars(server, user, random.fork('calendars')) : null
      return {
        calendars,
        dav: {
          contactsUrl: `http://${proxy.host}:${proxy.port}/`,
          calendarUrl: hasCalendars ? `http://${proxy.host}:${proxy.port}/` : null,
          user: user.user,
          password: user.password,
        },
        readCards: async () =>
          (await listCards(client, path)).map(({ text }) => describeCard(text)).toSorted(),
        async act() {
          const cards = await listCards(client, path)
          if (cards.length === 0 || (cards.length < CARDS_MAX && random.chance(0.3))) return add()
          const { href } = random.pick(cards)
          await (random.chance(0.75) ? editCard(client, href, random) : removeCard(client, href))
        },
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The name of a card shows who has made it, and never changes. */
export const NAME_OF_OTHERS = 'Card'

async function addCard(client: DavTestClient, path: string, number: number, random: Random): Promise<void> {
  const name = `${NAME_OF_OTHERS} ${number}`
  const lines = ['BEGIN:VCARD', 'VERSION:3.0', `UID:card-${number}`, `FN:${name}`, `N:${name};;;;`]
  const card = [...lines, `NOTE:note ${random.between(1, 1_000_000)}`, 'END:VCARD', ''].join('\r\n')
  await client.put(`${path}card-${number}.vcf`, card)
}

/** Gives a card another note, unless the card has changed meanwhile. */
async function editCard(client: DavTestClient, href: string, random: Random): Promise<void> {
  const answer = await client.request('GET', href)
  const text = await answer.text()
  if (answer.status !== 200) return
  const rest = unfold(text).filter(line => !/^NOTE[:;]/.test(line))
  const note = `NOTE:note ${random.between(1, 1_000_000)}`
  const card = rest.flatMap(line => (line === 'END:VCARD' ? [note, line] : [line])).join('\r\n')
  await changeCard(client, 'PUT', href, answer, card)
}

/** Removes a card that the API has not made. */
async function removeCard(client: DavTestClient, href: string): Promise<void> {
  const answer = await client.request('GET', href)
  const text = await answer.text()
  if (answer.status !== 200 || !fieldOf(text, 'FN').startsWith(NAME_OF_OTHERS)) return
  await changeCard(client, 'DELETE', href, answer)
}

/** Changes or removes a card, unless it is not as it was read. */
async function changeCard(
  client: DavTestClient,
  method: 'PUT' | 'DELETE',
  href: string,
  read: Response,
  body?: string,
): Promise<void> {
  const headers = {
    'if-match': read.headers.get('etag') ?? '',
    ...(body !== undefined && { 'content-type': 'text/vcard; charset=utf-8' }),
  }
  const answer = await client.request(method, href, { headers, ...(body !== undefined && { body }) })
  await answer.arrayBuffer()
  if (!answer.ok && ![404, 412].includes(answer.status))
    throw new Error(`${method} ${href}: ${answer.status}`)
}

async function listCards(
  client: DavTestClient,
  path: string,
): Promise<Array<{ href: string; text: string }>> {
  const answer = await client.request('REPORT', path, { headers: { depth: '1' }, body: QUERY })
  const xml = await answer.text()
  if (answer.status !== 207) throw new Error(`REPORT ${path}: ${answer.status} ${xml}`)
  const element = (name: string) => new RegExp(`<(?:\\w+:)?${name}\\b[^>]*>([^<]*)</`)
  return xml
    .split(/<(?:\w+:)?response>/)
    .slice(1)
    .map(part => ({
      href: element('href').exec(part)?.[1] ?? '',
      text: unescapeXml(element('address-data').exec(part)?.[1] ?? ''),
    }))
}

const ENTITIES: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#13': '\r',
  amp: '&',
}

function unescapeXml(text: string): string {
  return text.replace(/&(\w+|#13);/g, (whole, name: string) => ENTITIES[name] ?? whole)
}
