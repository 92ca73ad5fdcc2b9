import { afterAll, describe, expect, test } from 'vitest'
import { CALDAV_SERVERS, arrangeCalendars, openUser, PUTS_MAX } from '../../../test/servers/caldav-world.ts'
import { BERLIN, calendarFile, eventText } from '../../../test/servers/event-text.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { never } from '../conformance/arrangement.ts'
import { describeCalendars } from '../conformance/calendars.ts'
import { openEventIndex } from '../conformance/event-index.ts'
import { openFileThread } from './file-thread.ts'
import { pathOf } from './hrefs.ts'
import { SOAK } from '../../../test/soak.ts'

const fileThread = openFileThread()
afterAll(() => fileThread[Symbol.asyncDispose]())

const window = { start: new Date('2026-09-01'), end: new Date('2027-09-01') }
const OLD = ['DTSTART:20240101T090000Z', 'DTEND:20240101T100000Z']
const NOW = ['DTSTART:20261201T090000Z', 'DTEND:20261201T100000Z']
/** More than are read without asking the server for the events of a time. */
const OLD_EVENTS = 120
/** Servers whose long histories CI reads. */
const IN_CI = new Set(['CalDAV on Radicale', 'CalDAV on sabre/dav'])

describe.concurrent.each(CALDAV_SERVERS)('$name', ({ name, start, lacks }) => {
  const server = useServer(start)
  describeCalendars(name, () => arrangeCalendars(server(), fileThread, lacks))

  test('shows a calendar as it was made, and none that takes only tasks', async () => {
    const { client, home, connect } = await openUser(server(), fileThread)
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
    const { client, connect } = await openUser(server(), fileThread)
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

  const history = IN_CI.has(name) ? {} : SOAK
  test(
    'brings no old event of a long history, but an old series that goes on, and what has moved',
    history,
    async () => {
      const { client, home, connect } = await openUser(server(), fileThread)
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
    },
  )
})
