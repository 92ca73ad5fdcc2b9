import { randomUUID } from 'node:crypto'
import { parseEgressAllow } from '../../src/kit/egress/allow-list.ts'
import { egressGuard } from '../../src/kit/egress/guard.ts'
import type { WrittenEvent } from '../../src/providers/conformance/calendars.ts'
import type { ChangingCalendarsArrangement } from '../../src/providers/conformance/changing-calendars-account.ts'
import { calDavAccount } from '../../src/providers/dav/caldav.ts'
import type { FileThread } from '../../src/providers/dav/file-thread.ts'
import { pathOf } from '../../src/providers/dav/hrefs.ts'
import { LoginSchemes } from '../../src/providers/dav/login.ts'
import { startCyrusDav } from './cyrus-dav.ts'
import { davTestClient } from './dav-client.ts'
import type { DavTestServer } from './dav-test-server.ts'
import { BERLIN, calendarFile, eventText } from './event-text.ts'
import { startRadicale } from './radicale.ts'
import { startSabre } from './sabre.ts'
import { startXandikos } from './xandikos.ts'

/* CalDAV servers with calendars, as the suites of conformance take them. */

const guard = egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) })
/** Events that the other client stores at once. */
export const PUTS_MAX = 8

export async function openUser(server: DavTestServer, files: FileThread) {
  const user = await server.addUser()
  const home = new URL(user.calendarHomePath, server.url)
  const schemes = new LoginSchemes()
  const connect = () =>
    calDavAccount({
      home,
      login: { user: user.user, password: user.password },
      guard,
      files,
      authorities: undefined,
      schemes,
      signal: new AbortController().signal,
    })
  return { client: davTestClient(server, user), home, connect, name: user.user }
}

export type Lacks = Partial<Record<'description' | 'timeZone' | 'color', null>>

/** A user of the server with a calendar. */
export async function arrangeCalendars(
  server: DavTestServer,
  files: FileThread,
  lacks: Lacks,
): Promise<ChangingCalendarsArrangement> {
  const { client, home, connect } = await openUser(server, files)
  const calendar = await client.makeCalendar('work')
  const change = async (key: string, edit: (file: string) => string) =>
    client.put(key, edit(await client.get(key)))
  const added = (key: string, lines: (uid: string) => string) =>
    change(key, file => file.replace(/END:VCALENDAR/, `${lines(uidIn(file))}\r\nEND:VCALENDAR`))
  return {
    world: {
      async add(events) {
        const paths = events.map(() => `${calendar}${randomUUID()}.ics`)
        const stored = paths.map((path, index) => ({ path, file: fileOf(events[index]!) }))
        while (stored.length > 0)
          await Promise.all(stored.splice(0, PUTS_MAX).map(({ path, file }) => client.put(path, file)))
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
      text: true,
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

export const CALDAV_SERVERS = [
  { name: 'CalDAV on Radicale', start: startRadicale, lacks: {} as Lacks },
  // It does not store these properties, nor the components of a calendar, which then takes events as well.
  { name: 'CalDAV on Xandikos', start: startXandikos, lacks: { description: null, timeZone: null } },
  { name: 'CalDAV on sabre/dav', start: startSabre, lacks: {} },
  { name: 'CalDAV on Cyrus', start: startCyrusDav, lacks: { color: null } },
]
