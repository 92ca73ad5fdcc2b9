import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CallProxy,
  type ProxiedCall,
  startCallProxy,
} from '../packages/server/test/servers/call-proxy.ts'
import { davTestClient } from '../packages/server/test/servers/dav-client.ts'
import type { DavTestServer, DavTestUser } from '../packages/server/test/servers/dav-test-server.ts'
import type { BenchService } from './service.ts'

const POLL_MS = 20
const TAGS = `<?xml version="1.0" encoding="utf-8"?>
<D:propfind xmlns:D="DAV:" xmlns:S="http://calendarserver.org/ns/"><D:prop><S:getctag/><D:sync-token/></D:prop></D:propfind>`
const SYNC_SECONDS_MAX = 1_800

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

/** A proxy before the address books, which sees the requests of the service, and its origin. */
export async function watchBooks(
  server: DavTestServer,
): Promise<AsyncDisposable & { proxy: CallProxy; origin: string }> {
  const proxy = await startCallProxy({ controlUrl: server.url.origin, hosts: { dav: server.url.origin } })
  const hosts = (await (await fetch(`${proxy.controlUrl}/hosts`)).json()) as { dav: string }
  return { proxy, origin: hosts.dav, [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() }
}

/** Switches the contacts of an account on. */
export async function addBook(
  service: BenchService,
  accountId: string,
  { user, origin }: { user: DavTestUser; origin: string },
): Promise<void> {
  await changeSettings(service, accountId, {
    contactsUrl: new URL(user.homePath, origin).href,
    calendarUrl: null,
    user: user.user,
    password: user.password,
  })
}

/** Switches the contacts of an account off, and waits until the index has none. */
export async function removeBook(service: BenchService, accountId: string): Promise<void> {
  await changeSettings(service, accountId, null)
  await untilContacts(service, accountId, false)
}

async function changeSettings(service: BenchService, accountId: string, dav: object | null): Promise<void> {
  const { status, body } = await service.patch(`/v1/accounts/${accountId}/imap-settings`, { dav })
  if (status !== 200) throw new Error(JSON.stringify(body))
}

/** Waits until the first sync of the contacts is done, or until they have left the index. */
export async function untilContacts(
  service: BenchService,
  accountId: string,
  areThere: boolean,
): Promise<void> {
  const deadline = performance.now() + SYNC_SECONDS_MAX * 1_000
  for (;;) {
    const { body } = await service.get<{ contactsInitializedAt: string | null }>(`/v1/accounts/${accountId}`)
    if ((body.contactsInitializedAt !== null) === areThere) return
    if (performance.now() > deadline)
      throw new Error(`the contacts do not come or go: ${JSON.stringify(body)}`)
    await sleep(POLL_MS)
  }
}

/** Sends requests again, one after the other on one connection, and drops their answers. */
export function openReplay(origin: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const send = ({ method, path, headers, body }: Pick<ProxiedCall, 'method' | 'path' | 'headers' | 'body'>) =>
    new Promise<number>((resolve, reject) => {
      const bytes = Buffer.from(body, 'latin1')
      const options = { agent, method, headers: { ...headers, 'content-length': String(bytes.byteLength) } }
      const sent = request(origin + path, options, answer => {
        answer.on('error', reject)
        answer.on('end', () => resolve(answer.statusCode ?? 0))
        answer.resume()
      })
      sent.on('error', reject)
      sent.end(bytes)
    })
  return {
    send,
    async sendAll(calls: readonly ProxiedCall[]): Promise<void> {
      for (const call of calls) await send(call)
    },
    [Symbol.dispose]: () => agent.destroy(),
  }
}
