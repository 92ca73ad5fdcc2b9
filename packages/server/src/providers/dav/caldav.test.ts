import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { startCyrusDav } from '../../../test/servers/cyrus-dav.ts'
import { davTestClient } from '../../../test/servers/dav-client.ts'
import type { DavTestServer } from '../../../test/servers/dav-test-server.ts'
import { BERLIN, calendarFile, eventText } from '../../../test/servers/event-text.ts'
import { startRadicale } from '../../../test/servers/radicale.ts'
import { startSabre } from '../../../test/servers/sabre.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { startXandikos } from '../../../test/servers/xandikos.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { egressGuard } from '../../kit/egress/guard.ts'
import { never } from '../conformance/arrangement.ts'
import { describeCalendars, type WrittenEvent } from '../conformance/calendars.ts'
import {
  type ChangingCalendarsArrangement,
  describeChangingCalendars,
} from '../conformance/changing-calendars.ts'
import { openEventIndex } from '../conformance/event-index.ts'
import { calDavAccount } from './caldav.ts'
import { pathOf } from './hrefs.ts'
import { openFileThread } from './file-thread.ts'
import { LoginSchemes } from './login.ts'

const fileThread = openFileThread()
afterAll(() => fileThread[Symbol.asyncDispose]())
const guard = egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) })

const window = { start: new Date('2026-09-01'), end: new Date('2027-09-01') }
const OLD = ['DTSTART:20240101T090000Z', 'DTEND:20240101T100000Z']
const NOW = ['DTSTART:20261201T090000Z', 'DTEND:20261201T100000Z']
/** More than are read without asking the server for the events of a time. */
const OLD_EVENTS = 120
/** Events that the other client stores at once. */
const PUTS_MAX = 8

async function openUser(server: DavTestServer) {
  const user = await server.addUser()
  const home = new URL(user.calendarHomePath, server.url)
  const schemes = new LoginSchemes()
  const connect = () =>
    calDavAccount({
      home,
      login: { user: user.user, password: user.password },
      guard,
      files: fileThread,
      authorities: undefined,
      schemes,
      signal: new AbortController().signal,
    })
  return { client: davTestClient(server, user), home, connect }
}

type Lacks = Partial<Record<'description' | 'timeZone' | 'color', null>>

/** A user of the server with a calendar. */
async function arrange(server: DavTestServer, lacks: Lacks): Promise<ChangingCalendarsArrangement> {
  const { client, home, connect } = await openUser(server)
  const calendar = await client.makeCalendar('work')
  const change = async (key: string, edit: (file: string) => string) =>
    client.put(key, edit(await client.get(key)))
  const added = (key: string, lines: (uid: string) => string) =>
    change(key, file => file.replace(/END:VCALENDAR/, `${lines(uidIn(file))}\r\nEND:VCALENDAR`))
  return {
    world: {
      async add(events) {
        const paths = events.map(() => `${calendar}${randomUUID()}.ics`)
        const files = paths.map((path, index) => ({ path, file: fileOf(events[index]!) }))
        while (files.length > 0)
          await Promise.all(files.splice(0, PUTS_MAX).map(({ path, file }) => client.put(path, file)))
        return paths.map(path => pathOf(path, home)!)
      },
      rename: (key, subject) => change(key, file => file.replace(/^SUMMARY:.*$/m, `SUMMARY:${subject}`)),
      remove: key => client.remove(key),
      except: (key, member, subject) =>
        added(key, uid =>
          eventText(uid, [
            `RECURRENCE-ID;TZID=Europe/Berlin:${member}`,
            `DTSTART;TZID=Europe/Berlin:${member}`,
            'DURATION:PT30M',
            `SUMMARY:${subject}`,
          ]),
        ),
      take: (key, member) =>
        change(key, file =>
          file.replace(/^RRULE:FREQ=WEEKLY.*$/m, rule => `${rule}\r\nEXDATE;TZID=Europe/Berlin:${member}`),
        ),
      async addCalendar() {
        const props = '<D:displayname>More &amp; more</D:displayname>'
        await client.makeCalendar('more', { props })
        return 'More & more'
      },
    },
    calendarKey: pathOf(calendar, home)!,
    connect: () => Promise.resolve(connect()),
    spoil: cursor => ({ ...cursor, syncToken: 'urn:of-another-server', ctag: 'another' }),
    unknownKey: `${calendar}unknown.ics`,
    eventsOfSteps: 101,
    self: { name: 'Me', address: 'me@example.org' },
    holds: {
      showAs: ['free', 'tentative', 'oof', 'working_elsewhere', 'busy'],
      sensitivity: ['private', 'confidential', 'normal'],
      html: true,
      description: !('description' in lacks),
      color: !('color' in lacks),
      silence: true,
    },
    async [Symbol.asyncDispose]() {},
  }
}

const uidIn = (file: string) => /^UID:(.*)$/m.exec(file)![1]!.trim()

function fileOf({ subject, start, end, rule }: WrittenEvent): string {
  const type = start.includes('T') ? ';TZID=Europe/Berlin' : ';VALUE=DATE'
  const summary = subject.replaceAll(/[;,]/g, String.raw`\$&`)
  const lines = [`DTSTART${type}:${start}`, `DTEND${type}:${end}`, `SUMMARY:${summary}`]
  return calendarFile([BERLIN, eventText(randomUUID(), [...lines, ...(rule ? [`RRULE:${rule}`] : [])])])
}

const KINDS = [
  { name: 'CalDAV on Radicale', start: startRadicale, lacks: {} as Lacks },
  // It does not store these properties, nor the components of a calendar, which then takes events as well.
  { name: 'CalDAV on Xandikos', start: startXandikos, lacks: { description: null, timeZone: null } },
  { name: 'CalDAV on sabre/dav', start: startSabre, lacks: {} },
  { name: 'CalDAV on Cyrus', start: startCyrusDav, lacks: { color: null } },
]

describe.concurrent.each(KINDS)('$name', ({ name, start, lacks }) => {
  const server = useServer(start)
  describeCalendars(name, () => arrange(server(), lacks))
  describeChangingCalendars(name, () => arrange(server(), lacks))

  test('shows a calendar as it was made, and none that takes only tasks', async () => {
    const { client, home, connect } = await openUser(server())
    const props = [
      '<D:displayname>Team</D:displayname>',
      '<C:calendar-description>All of us</C:calendar-description>',
      '<A:calendar-color xmlns:A="http://apple.com/ns/ical/">#FF8800FF</A:calendar-color>',
      `<C:calendar-timezone>${calendarFile([BERLIN])}</C:calendar-timezone>`,
    ].join('')
    const path = await client.makeCalendar('team')
    // Xandikos takes most of them only so.
    await client.setProps(path, props)
    await client.makeCalendar('tasks', { components: ['VTODO'] })
    await using account = connect()

    const found = await account.calendars.listCalendars(never)

    expect(found.find(({ name: shown }) => shown === 'Team')).toMatchObject({
      key: pathOf(path, home),
      description: 'All of us',
      color: '#ff8800',
      timeZone: 'Europe/Berlin',
      access: 'owner',
      isHidden: false,
      ...lacks,
    })
    const hasTasks = found.some(({ key }) => key.endsWith('/tasks'))
    expect(hasTasks).toBe(server().kind === 'xandikos')
  })

  test('leaves out tasks in a calendar of events', async () => {
    const { client, connect } = await openUser(server())
    const calendar = await client.makeCalendar('mixed', { components: ['VEVENT', 'VTODO'] })
    const todo = ['BEGIN:VTODO', 'UID:todo', 'DTSTAMP:20261101T120000Z', 'SUMMARY:Do it', 'END:VTODO']
    await client.put(`${calendar}todo.ics`, calendarFile(todo))
    await using account = connect()
    const found = await account.calendars.listCalendars(never)
    const calendarKey = found.find(({ key }) => key.endsWith('/mixed'))!.key

    const keys = [`${calendarKey}/todo.ics`]
    expect(await account.calendars.read({ calendarKey, keys, window })).toEqual({ items: [], unreadable: [] })
    await client.put(`${calendar}event.ics`, calendarFile([eventText('event', [...NOW, 'SUMMARY:Meet'])]))
    const index = openEventIndex(
      found.find(({ key }) => key === calendarKey)!,
      window,
    )
    await index.follow(account.calendars)
    expect(index.subjects()).toEqual(['Meet'])
    await client.put(
      `${calendar}other.ics`,
      calendarFile(todo.map(line => line.replace('UID:todo', 'UID:other'))),
    )
    await index.follow(account.calendars)
    expect([index.subjects(), index.unreadable.size]).toEqual([['Meet'], 0])
  })

  test('brings no old event of a long history, but an old series that goes on, and what has moved', async () => {
    const { client, home, connect } = await openUser(server())
    const calendar = await client.makeCalendar('history')
    const put = (uid: string, ...components: string[][]) =>
      client.put(`${calendar}${uid}.ics`, calendarFile(components.map(lines => eventText(uid, lines))))
    const old = Array.from({ length: OLD_EVENTS }, (_, nth) => `old-${nth}`)
    while (old.length > 0)
      await Promise.all(old.splice(0, PUTS_MAX).map(uid => put(uid, [...OLD, `SUMMARY:${uid}`])))
    await put('current', [...NOW, 'SUMMARY:current'])
    await put('going', [...OLD, 'RRULE:FREQ=WEEKLY', 'SUMMARY:going'])
    const moved = ['RECURRENCE-ID:20240108T090000Z', ...NOW, 'SUMMARY:moved']
    await put('over', [...OLD, 'RRULE:FREQ=WEEKLY;COUNT=3', 'SUMMARY:over'], moved)
    await put('dated', [...OLD, 'RDATE:20261201T090000Z', 'SUMMARY:dated'])
    await using account = connect()
    const key = pathOf(calendar, home)!
    const found = (await account.calendars.listCalendars(never)).find(one => one.key === key)!

    const index = openEventIndex(found, window)
    await index.follow(account.calendars)
    expect(index.subjects().toSorted()).toEqual(['current', 'dated', 'going', 'over'])
    const listed = await Array.fromAsync(account.calendars.list(found, window, never))
    expect(
      listed
        .flat()
        .map(item => item.key)
        .toSorted(),
    ).toEqual([...index.objects.keys()].toSorted())
  })
})
