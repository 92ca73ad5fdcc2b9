import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { startCyrusDav } from '../../../test/servers/cyrus-dav.ts'
import { davTestClient } from '../../../test/servers/dav-client.ts'
import type { DavTestServer, DavTestUser } from '../../../test/servers/dav-test-server.ts'
import { calendarFile, eventText } from '../../../test/servers/event-text.ts'
import { startRadicale } from '../../../test/servers/radicale.ts'
import { sendMultistatus } from '../../../test/servers/odd-dav.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { egressGuard } from '../../kit/egress/guard.ts'
import { never } from '../conformance/arrangement.ts'
import { calDavAccount } from './caldav.ts'
import { openFileThread } from './file-thread.ts'
import { LoginSchemes } from './login.ts'

const fileThread = openFileThread()
afterAll(() => fileThread[Symbol.asyncDispose]())
const guard = egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) })
const RANGE = { start: new Date('2026-12-01T00:00:00Z'), end: new Date('2026-12-03T00:00:00Z') }

const accountOf = (server: DavTestServer, user: DavTestUser) =>
  calDavAccount({
    home: new URL(user.calendarHomePath, server.url),
    login: { user: user.user, password: user.password },
    guard,
    files: fileThread,
    authorities: undefined,
    schemes: new LoginSchemes(),
    signal: never,
  })

async function askAbout(server: DavTestServer, user: DavTestUser, addresses: readonly string[]) {
  await using account = accountOf(server, user)
  const found = await account.calendars.findBusy!(addresses, RANGE, never)
  return Object.fromEntries(
    [...found].map(([address, times]) => [
      address,
      times
        .map(({ start, end }) => `${start.toISOString()} ${end.toISOString()}`.replaceAll(':00.000Z', ''))
        .toSorted(),
    ]),
  )
}

describe('busy times of others on Cyrus, which schedules', () => {
  const server = useServer(startCyrusDav)

  test('are those that its outbox answers', async () => {
    const [ada, grace, idle] = [await server().addUser(), await server().addUser(), await server().addUser()]
    const client = davTestClient(server(), grace)
    // Cyrus answers for users who have calendars.
    await davTestClient(server(), idle).makeCalendar('empty')
    const calendar = await client.makeCalendar('work')
    const put = (uid: string, lines: readonly string[]) =>
      client.put(`${calendar}${uid}.ics`, calendarFile([eventText(uid, lines)]))
    await put('single', ['DTSTART:20261201T090000Z', 'DTEND:20261201T100000Z'])
    await put('free', ['DTSTART:20261201T110000Z', 'DTEND:20261201T120000Z', 'TRANSP:TRANSPARENT'])
    await put('series', ['DTSTART:20261125T150000Z', 'DURATION:PT30M', 'RRULE:FREQ=DAILY'])
    const addresses = [grace.email, idle.email, 'nobody@elsewhere.example']
    expect(await askAbout(server(), ada, addresses)).toEqual({
      [grace.email]: [
        '2026-12-01T09:00 2026-12-01T10:00',
        '2026-12-01T15:00 2026-12-01T15:30',
        '2026-12-02T15:00 2026-12-02T15:30',
      ],
      [idle.email]: [],
    })
  })
})

describe('busy times of others on Radicale, which does not schedule', () => {
  const server = useServer(startRadicale)

  test('are unknown', async () => {
    const user = await server().addUser()
    expect(await askAbout(server(), user, [user.email])).toEqual({})
  })
})

test('busy times of others on a server whose hrefs are no URLs are unknown', async () => {
  await using server = createServer((_, response) =>
    sendMultistatus(
      response,
      '<response><href>/home/</href><propstat><prop><current-user-principal><href>http://[</href></current-user-principal>' +
        '</prop><status>HTTP/1.1 200 OK</status></propstat></response>',
    ),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await using account = calDavAccount({
    home: new URL(`http://127.0.0.1:${port}/home/`),
    login: { user: 'ada', password: 'secret' },
    guard,
    files: fileThread,
    authorities: undefined,
    schemes: new LoginSchemes(),
    signal: never,
  })
  expect(await account.calendars.findBusy!(['grace@example.com'], RANGE, never)).toEqual(new Map())
})
