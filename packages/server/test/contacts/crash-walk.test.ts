import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCrashableService } from '../sending/crashable-service.ts'
import { type ProxiedCall, startCallProxy } from '../servers/call-proxy.ts'
import { type DavTestClient, davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startRadicale } from '../servers/radicale.ts'
import { useServer } from '../servers/shared-server.ts'
import { readFeed } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { readContacts, waitForContacts } from './carddav-account.ts'
import { casesFor } from '../soak.ts'

type Operation = 'create' | 'update' | 'delete' | 'photo'

/** The moment at which the service is killed: before the server has a request, after it has carried it out, or later. */
interface Moment {
  operation: Operation
  method: 'PUT' | 'DELETE' | 'GET'
  /** `answered`: the service has the answer, and is about to store it. */
  when: 'before' | 'carried out' | 'answered'
}

const ALL: readonly Moment[] = [
  ...(['before', 'carried out', 'answered'] as const).flatMap((when): Moment[] => [
    { operation: 'create', method: 'PUT', when },
    { operation: 'update', method: 'PUT', when },
    { operation: 'delete', method: 'DELETE', when },
  ]),
  { operation: 'update', method: 'GET', when: 'before' },
  { operation: 'photo', method: 'GET', when: 'before' },
]

const WALK = casesFor(
  ALL,
  ({ operation, when }) => operation === 'photo' || (operation !== 'delete' && when !== 'before'),
)

const PHOTO = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const CARD = [
  'BEGIN:VCARD',
  'VERSION:3.0',
  'UID:ada',
  'FN:Ada',
  'N:Ada;;;;',
  `PHOTO;ENCODING=b;TYPE=PNG:${PHOTO.toString('base64')}`,
  'END:VCARD',
  '',
].join('\r\n')

/** Events of an account whose operation was carried out once. */
const EVENTS: Readonly<Record<Operation, readonly string[]>> = {
  create: ['contact.created Bob'],
  update: ['contact.updated Ada'],
  delete: ['contact.deleted Ada'],
  photo: [],
}
/** Cards of an account whose operation was carried out once, with their nicknames. */
const CARDS: Readonly<Record<Operation, readonly string[]>> = {
  create: ['Ada', 'Bob'],
  update: ['Ada Countess'],
  delete: [],
  photo: ['Ada'],
}

const dovecot = useServer(startDovecot)
const radicale = useServer(startRadicale)
const proxy = useServer(() => startCallProxy({ controlUrl: '', hosts: { dav: radicale().url.origin } }))
const opened = useServer(() =>
  openCrashableService({
    env: {
      WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
      WAXWING_ALLOW_PLAINTEXT: 'true',
      WAXWING_CONNECTIONS_PER_HOST: '50',
    },
  }),
)

interface Walked {
  moment: Moment
  /** The user of the address book, whose paths begin with the name. */
  user: string
  client: DavTestClient
  book: string
  accountId: string
  contactId: string
}

async function connect(moment: Moment): Promise<Walked> {
  const [user, davUser] = [await dovecot().addUser(), await radicale().addUser()]
  const client = davTestClient(radicale(), davUser)
  const book = await client.makeBook('people')
  await client.put(`${book}ada.vcf`, CARD)
  const { dav: origin } = (await (await fetch(`${proxy().controlUrl}/hosts`)).json()) as { dav: string }
  // Redirects would lead past the proxy.
  const dav = { ...radicale(), url: new URL(davUser.homePath, origin) }
  const connection = connectionWithDav(dovecot(), user, { dav, davUser, half: 'contactsUrl' })
  const { status, body } = await opened().caller().post<Account>('/v1/imap-accounts', connection)
  expect({ status, body }).toMatchObject({ status: 200 })
  await waitForContacts(opened().caller(), body.id)
  const [ada] = await readContacts(opened().caller(), body.id)
  return { moment, user: davUser.user, client, book, accountId: body.id, contactId: ada!.id }
}

/** Asks for the operation, in the same words each time. */
function ask({ moment, accountId, contactId }: Walked): Promise<{ status: number }> {
  const caller = opened().caller()
  const path = `/v1/accounts/${accountId}/contacts`
  const at = `${path}/${contactId}`
  switch (moment.operation) {
    case 'create':
      return caller.post(path, { displayName: 'Bob' }, { 'idempotency-key': `create-${accountId}` })
    case 'update':
      return caller.patch(at, { nickname: 'Countess' })
    case 'delete':
      return caller.delete(at)
    case 'photo':
      return caller.get(`${at}/photo`)
  }
}

const isOf = ({ user, moment }: Walked, { method, path }: ProxiedCall) =>
  method === moment.method && path.startsWith(`/${user}/`)

/** Begins an operation, and waits until the proxy holds its request. */
async function hold(walked: Walked, held: Set<string>): Promise<void> {
  const { user, moment } = walked
  held.add(user)
  const isHeld = waitUntil(`the request of ${moment.operation} ${moment.when}`, async () => !held.has(user))
  const answered = ask(walked).then(answer => {
    throw new Error(`${moment.operation} is answered ${moment.when}: ${JSON.stringify(answer)}`)
  })
  // The service dies before it answers.
  answered.catch(() => {})
  await Promise.race([isHeld, answered])
}

/** Holds requests for good, and the requests of others not at all. */
function holding(all: readonly Walked[], held: Set<string>) {
  return async (call: ProxiedCall) => {
    const walked = all.find(one => held.has(one.user) && isOf(one, call))
    if (!walked) return
    if (walked.moment.when === 'carried out') {
      const { method, path, headers, body } = call
      const { 'content-length': _, ...rest } = headers
      const answer = await fetch(new URL(path, radicale().url), {
        method,
        headers: rest,
        ...(body === '' ? {} : { body: Buffer.from(body, 'latin1') }),
      })
      expect(answer.ok).toBe(true)
      await answer.arrayBuffer()
    }
    held.delete(walked.user)
    await new Promise(() => {})
  }
}

/** Begins operations while nobody can store a contact, and waits until the server has answered each. */
async function answerAll(walked: readonly Walked[]): Promise<AsyncDisposable> {
  const [locked, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const done = opened()
    .db.transaction()
    .execute(async tx => {
      await sql`lock table contact in share row exclusive mode`.execute(tx)
      locked.resolve()
      await ended.promise
    })
  await locked.promise
  for (const one of walked) ask(one).catch(() => {})
  await waitUntil('the answers of the server', async () =>
    walked.every(one => proxy().calls.some(call => call.status !== null && isOf(one, call))),
  )
  return {
    async [Symbol.asyncDispose]() {
      ended.resolve()
      await done
    },
  }
}

async function cardsOf({ client, book }: Walked): Promise<string[]> {
  const listing = await (await client.request('PROPFIND', book, { headers: { depth: '1' } })).text()
  const paths = [...listing.matchAll(/<href>([^<]+\.vcf)<\/href>/g)].map(([, path]) => path!)
  const cards = await Promise.all(paths.map(path => client.get(path)))
  const fieldOf = (card: string, name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(card)?.[1]
  return cards
    .map(card => [fieldOf(card, 'FN'), fieldOf(card, 'NICKNAME')].filter(Boolean).join(' '))
    .toSorted()
}

async function indexOf({ accountId }: Walked): Promise<string[]> {
  const contacts = await readContacts(opened().caller(), accountId)
  return contacts.map(({ displayName, nickname }) => [displayName, nickname].filter(Boolean).join(' '))
}

async function eventsOf({ accountId }: Walked): Promise<string[]> {
  const { events } = await readFeed(opened().caller())
  return events.flatMap(({ type, data, accountId: of }) =>
    of === accountId && data.contact ? [`${type} ${(data.contact as Contact).displayName}`] : [],
  )
}

test(
  'a contact is made, changed and deleted once, and its photo is read, wherever the service is killed meanwhile',
  { timeout: 300_000 },
  async () => {
    const all: Walked[] = []
    for (const moment of WALK) all.push(await connect(moment))
    const held = new Set<string>()
    proxy().before = holding(all, held)
    const answered = all.filter(({ moment }) => moment.when === 'answered')
    for (const walked of all) if (walked.moment.when !== 'answered') await hold(walked, held)
    {
      await using _ = await answerAll(answered)
      await opened().kill()
    }
    await opened().restart()

    for (const walked of all) {
      const { moment, accountId } = walked
      const note = `${moment.operation}: ${moment.method} ${moment.when}`
      const { status } = await waitUntil(`a clear answer (${note})`, async () => {
        const answer = await ask(walked).catch(() => null)
        return answer === null || [409, 429, 502, 503].includes(answer.status) ? null : answer
      })
      // The sync may have seen before that the contact is gone.
      expect(moment.operation === 'delete' ? [200, 404] : [200], note).toContain(status)
      await opened()
        .caller()
        .post(`/v1/accounts/${accountId}/sync`, { kinds: ['contacts'] })
      await waitUntil(
        `the index to have it (${note})`,
        async () => (await indexOf(walked)).join() === CARDS[moment.operation].join(),
      ).catch(async () => expect(await indexOf(walked), note).toEqual(CARDS[moment.operation]))
      expect(await cardsOf(walked), note).toEqual(CARDS[moment.operation])
      expect(await eventsOf(walked), note).toEqual(EVENTS[moment.operation])
      if (moment.operation === 'delete' || moment.operation === 'create') continue
      const photo = `/v1/accounts/${accountId}/contacts/${walked.contactId}/photo`
      expect(await opened().caller().get(photo), note).toMatchObject({
        status: 200,
        body: new TextDecoder().decode(PHOTO),
      })
    }
  },
)
