import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { expect, test } from 'vitest'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startRadicale } from '../servers/radicale.ts'
import { useServer } from '../servers/shared-server.ts'
import { openTcpDoor } from '../servers/tcp-door.ts'
import { openWorld } from '../servers/world.ts'
import { openSyncApp, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { waitForCalendars } from './caldav-account.ts'

const opened = useServer(() => openSyncApp())
const dovecot = useServer(startDovecot)
const radicale = useServer(startRadicale)

const HEADER = ['From: kim@partner.example', 'To: ada@dovecot.test', 'MIME-Version: 1.0']
const TYPES = { plain: 'text/plain', html: 'text/html' }
const LONG = 'A long text, of which only the beginning is fetched.\r\n'.repeat(2_000)

const plain = (subject: string, text: string) => [...HEADER, `Subject: ${subject}`, '', text, ''].join('\r\n')
const alternative = (subject: string, text: string) =>
  [
    ...HEADER,
    `Subject: ${subject}`,
    'Content-Type: multipart/alternative; boundary=inner',
    '',
    ...Object.values(TYPES).flatMap(type => ['--inner', `Content-Type: ${type}; charset=utf-8`, '', text]),
    '--inner--',
    '',
  ].join('\r\n')
const ordinary = (word: string) => [
  plain(`${word} short`, 'Hello.'),
  plain(`${word} long`, LONG),
  alternative(`${word} both`, 'Hello.'),
  alternative(`${word} both, long`, LONG),
]

/** Of how many messages each item is fetched by a first sync and for arrivals, with or without calendars. */
async function fetched(hasCalendars: boolean): Promise<Record<string, number>> {
  const app = opened()
  const user = await dovecot().addUser()
  const davUser = await radicale().addUser()
  await davTestClient(radicale(), davUser).makeCalendar('team')
  await using world = await openWorld(dovecot(), user)
  await world.deliver(ordinary('Old').map(raw => ({ raw })))
  await using door = await openTcpDoor(dovecot().port)
  const places = { dav: radicale(), davUser, half: 'calendarUrl' } as const
  const { dav, ...connection } = connectionWithDav({ host: '127.0.0.1', port: door.port }, user, places)
  const body = hasCalendars ? { ...connection, dav } : connection
  const { body: account } = await app.post<Account>('/v1/imap-accounts', body)
  await waitForFirstSync(app, account.id)
  if (hasCalendars) await waitForCalendars(app, account.id)
  for (const raw of ordinary('New')) await world.deliver({ raw })
  const all = ordinary('Old').length * 2
  await waitUntil('the messages', async () => (await readMessages(app, account.id)).length === all)
  await app.delete(`/v1/accounts/${account.id}`)
  const counts = new Map<string, number>()
  for (const [, uids = '', items = ''] of door.heard.join('').matchAll(/UID FETCH (\S+) \(([^\r\n]*)\)/g))
    for (const [item] of items.matchAll(/\bBODY[^\s)]*/g))
      counts.set(item, (counts.get(item) ?? 0) + countOf(uids))
  return Object.fromEntries(counts)
}

/** The number of messages of a set. */
const countOf = (uids: string): number =>
  uids
    .split(',')
    .map(range => range.split(':').map(Number))
    .reduce((sum, [from = 0, to = from]) => sum + to - from + 1, 0)

test('ordinary mail of an account with calendars takes no further fetch', async () => {
  const withCalendars = await fetched(true)
  expect(withCalendars).toEqual(await fetched(false))
  expect(withCalendars['BODYSTRUCTURE']).toBe(2)
})
