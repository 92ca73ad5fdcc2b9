import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { arrangeCalendars, CALDAV_SERVERS, openUser } from '../../../test/servers/caldav-world.ts'
import { startCyrusDav } from '../../../test/servers/cyrus-dav.ts'
import type { DavTestServer } from '../../../test/servers/dav-test-server.ts'
import { calendarFile, eventText } from '../../../test/servers/event-text.ts'
import { startRadicale } from '../../../test/servers/radicale.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { never } from '../conformance/arrangement.ts'
import { describeChangingCalendars } from '../conformance/changing-calendars.ts'
import { PLAIN_EVENT } from '../conformance/changing-calendars-account.ts'
import type { EventInput } from '../changing-calendars.ts'
import { ProviderFailure } from '../failure.ts'
import type { EventEdit } from './events/event-edit.ts'
import { type FileThread, openFileThread } from './file-thread.ts'
import { pathOf } from './hrefs.ts'

const fileThread = openFileThread()
afterAll(() => fileThread[Symbol.asyncDispose]())
const window = { start: new Date('2026-09-01'), end: new Date('2027-09-01') }
/** The domain of the users of Cyrus. */
const HOST = 'cyrus.test'

describe.concurrent.each(CALDAV_SERVERS)('$name', ({ name, start, lacks }) => {
  const server = useServer(start)
  describeChangingCalendars(name, () => arrangeCalendars(server(), fileThread, lacks))
})

/** An account, whose work on files is preceded by something else. */
async function openDisturbed(server: DavTestServer) {
  const disturbances: Array<(edit: EventEdit) => Promise<void>> = []
  const files: FileThread = {
    readCard: (...given) => fileThread.readCard(...given),
    editCard: (...given) => fileThread.editCard(...given),
    readEvents: (...given) => fileThread.readEvents(...given),
    readInvitation: (...given) => fileThread.readInvitation(...given),
    async editEvents(party, bytes, asked) {
      await disturbances.shift()?.(asked.edit)
      return fileThread.editEvents(party, bytes, asked)
    },
    async [Symbol.asyncDispose]() {},
  }
  const { client, home, connect, name } = await openUser(server, files)
  const key = pathOf(await client.makeCalendar('work'), home)!
  const account = connect()
  const writer = account.calendars.writer!
  const self = { name: null, address: `${name}@example.org` }
  const options = { self, own: new Set([self.address]), notify: true, concernsOthers: true, window }
  const create = async (fields: Partial<EventInput>) => {
    const creation = { creationId: randomUUID(), mayExist: false }
    return (
      await writer.createEvent(
        { calendarKey: key, fields: { ...PLAIN_EVENT, ...fields }, ...creation },
        options,
      )
    ).place
  }
  const subjectsOf = async () => {
    const calendar = (await account.calendars.listCalendars(never)).find(one => one.key === key)
    const listed = (await Array.fromAsync(account.calendars.list(calendar!, window, never))).flat()
    const keys = listed.map(one => one.key)
    const { items } = await account.calendars.read({ calendarKey: key, keys, window }, never)
    return items.map(({ event }) => event?.subject).toSorted()
  }
  return { account, writer, client, home, options, create, subjectsOf, disturbances }
}

describe('a server that another client uses', () => {
  const server = useServer(startRadicale)
  const ALL = { type: 'all', timesOf: null } as const

  test('keeps the change of the other client, up to three times', async () => {
    const { account, writer, client, options, create, disturbances } = await openDisturbed(server())
    await using _ = account
    const place = await create({})
    const rename = async (subject: string) =>
      client.put(place.key, (await client.get(place.key)).replace(/^SUMMARY:.*$/m, `SUMMARY:${subject}`))
    const change = { place, part: ALL, change: { location: 'Room 7' } }
    disturbances.push(...[1, 2, 3].map(time => () => rename(`Renamed ${time}`)))
    const { items } = await writer.changeEvent(change, options)
    expect(items).toMatchObject([{ object: { event: { subject: 'Renamed 3', location: 'Room 7' } } }])
    disturbances.push(...[1, 2, 3, 4].map(time => () => rename(`Again ${time}`)))
    const lost = writer.changeEvent({ ...change, change: { location: 'Room 8' } }, options)
    await expect(lost).rejects.toMatchObject({ kind: 'conflict', isBeforeAcceptance: true })
  })

  test('has a series that is split as a whole, or not at all', async () => {
    const { account, writer, options, create, subjectsOf, disturbances } = await openDisturbed(server())
    await using _ = account
    const recurrence = { rule: 'FREQ=DAILY;COUNT=5', dates: [], taken: [] }
    const place = await create({ subject: 'Series', recurrence })
    const fail = (kind: 'unavailable' | 'forbidden') => (edit: EventEdit) => {
      if (edit.type === 'end') throw new ProviderFailure(kind, 'It failed.')
      return Promise.resolve()
    }
    const creation = { creationId: randomUUID(), mayExist: false }
    const member = { type: 'following', member: '20261203T090000', memberKey: null } as const
    const split = (mayExist: boolean) =>
      writer.changeEvent(
        { place, part: { ...member, ...creation, mayExist }, change: { subject: 'Rest' } },
        options,
      )
    disturbances.push(() => Promise.resolve(), fail('forbidden'))
    await expect(split(false)).rejects.toMatchObject({ kind: 'forbidden' })
    expect(await subjectsOf()).toEqual(['Series'])

    disturbances.push(() => Promise.resolve(), fail('unavailable'))
    await expect(split(false)).rejects.toMatchObject({ isBeforeAcceptance: false })
    expect(await subjectsOf()).toEqual(['Rest', 'Series'])
    const { items } = await split(true)
    expect(items.map(({ object }) => object.type === 'item' && object.recurrence)).toEqual([
      ['RRULE:FREQ=DAILY;UNTIL=20261202T080000Z'],
      ['RRULE:FREQ=DAILY;COUNT=3'],
    ])
    expect(await subjectsOf()).toEqual(['Rest', 'Series'])
  })

  test('has a moved event that is found by the creation of its move', async () => {
    const { account, writer, client, options, create, home } = await openDisturbed(server())
    await using _ = account
    const place = await create({ subject: 'Moving' })
    const toCalendarKey = pathOf(await client.makeCalendar('other'), home)!
    const creation = { creationId: randomUUID(), mayExist: false }
    const asked = { calendarKey: toCalendarKey, creationId: creation.creationId }
    expect(await writer.findCreated(asked, never)).toBeNull()
    const moved = await writer.moveEvent({ place, toCalendarKey, ...creation }, options)
    expect(await writer.findCreated(asked, never)).toBe(moved.place.key)
  })

  test('ends a series at its split where another client has moved it or ended it meanwhile', async () => {
    const { account, writer, client, options, create, disturbances } = await openDisturbed(server())
    await using _ = account
    const recurrence = { rule: 'FREQ=DAILY;COUNT=5', dates: [], taken: [] }
    const member = { type: 'following', member: '20261203T090000', memberKey: null } as const
    const splitBeside = async (edit: (file: string) => string) => {
      const place = await create({ subject: 'Series', recurrence })
      disturbances.push(
        () => Promise.resolve(),
        async () => client.put(place.key, edit(await client.get(place.key))),
      )
      const creation = { creationId: randomUUID(), mayExist: false }
      const part = { ...member, ...creation }
      const { items } = await writer.changeEvent({ place, part, change: { subject: 'Rest' } }, options)
      return items.map(({ object }) => object.type === 'item' && object.recurrence)
    }
    const rest = ['RRULE:FREQ=DAILY;COUNT=3']
    const moved = await splitBeside(file => file.replaceAll('T090000', 'T093000'))
    expect(moved).toEqual([['RRULE:FREQ=DAILY;UNTIL=20261202T083000Z'], rest])
    const ended = await splitBeside(file => file.replace('COUNT=5', 'COUNT=2'))
    expect(ended).toEqual([['RRULE:FREQ=DAILY;COUNT=2'], rest])
  })
})

describe('a server that schedules', () => {
  const server = useServer(startCyrusDav)

  /** A user with the calendar that invitations come to. */
  async function openInvited() {
    const user = await openUser(server(), fileThread)
    const account = user.connect()
    const [calendar] = await account.calendars.listCalendars(never)
    const self = { name: null, address: `${user.name}@${HOST}` }
    const read = async () => {
      const listed = await Array.fromAsync(account.calendars.list(calendar!, window, never))
      const keys = listed.flat().map(({ key }) => key)
      const { items } = await account.calendars.read({ calendarKey: calendar!.key, keys, window }, never)
      return items.filter(item => item.type === 'item')
    }
    const options = { self, own: new Set([self.address]), notify: true, concernsOthers: true, window }
    return { ...user, writer: account.calendars.writer!, key: calendar!.key, self, read, options, account }
  }

  test('keeps an exception that another client adds while the last one is taken', async () => {
    const { account, writer, client, options, create, disturbances } = await openDisturbed(server())
    await using _ = account
    const place = await create({ subject: 'Lone' })
    const member = (wall: string) => ({ type: 'member', member: wall, memberKey: null }) as const
    const exceptions = (...walls: string[]) =>
      calendarFile(
        walls.map(wall =>
          eventText(place.key.slice(-40, -4), [
            `RECURRENCE-ID:${wall}Z`,
            `DTSTART:${wall}Z`,
            'DURATION:PT1H',
            'SUMMARY:Lone',
          ]),
        ),
      )
    await client.put(place.key, exceptions('20261201T090000'))
    disturbances.push(() => client.put(place.key, exceptions('20261201T090000', '20261202T090000')))
    const { items } = await writer.removeEvent({ place, part: member('20261201T090000') }, options)
    expect(items).toMatchObject([{ object: { members: { exceptions: [{ member: '20261202T090000' }] } } }])
    const last = await writer.removeEvent({ place, part: member('20261202T090000') }, options)
    expect(last).toMatchObject({ items: [], gone: [place] })
  })

  test('invites people unless it is asked not to, and invites them later', async () => {
    const [host, guest] = [await openInvited(), await openInvited()]
    await using _ = host.account
    await using __ = guest.account
    expect(await host.writer.tellsPeople(host.key, never)).toBe(true)
    const attendees = [{ name: 'Guest', address: guest.self.address, type: 'required' as const }]
    const creation = { creationId: randomUUID(), mayExist: false }
    const event = { calendarKey: host.key, fields: { ...PLAIN_EVENT, attendees }, ...creation }

    const { place } = await host.writer.createEvent(event, { ...host.options, notify: false })
    expect(await host.client.get(place.key)).toContain('SCHEDULE-AGENT=CLIENT')
    expect(await guest.read()).toEqual([])

    const all = { type: 'all', timesOf: null } as const
    const own = { place, part: all, change: { reminderMinutes: 5 } }
    await host.writer.changeEvent(own, { ...host.options, concernsOthers: false })
    expect(await host.client.get(place.key)).toContain('SCHEDULE-AGENT=CLIENT')

    const change = { place, part: { type: 'all', timesOf: null }, change: { subject: 'Come' } } as const
    await host.writer.changeEvent(change, host.options)
    expect(await host.client.get(place.key)).not.toContain('SCHEDULE-AGENT=CLIENT')
    const [invitation] = await waitUntil('the invitation', async () => {
      const found = await guest.read()
      return found.length > 0 ? found : null
    })
    expect(invitation!.event).toMatchObject({ subject: 'Come', organizer: { address: host.self.address } })

    const answered = { calendarKey: guest.key, key: invitation!.key }
    const answer = { place: answered, part: { type: 'all' }, response: 'accepted', comment: null } as const
    await guest.writer.respond(answer, guest.options)
    await waitUntil('the answer', async () => {
      const [found] = await host.read()
      return found?.event?.attendees.some(({ response }) => response === 'accepted') ? found : null
    })

    const quiet = { place, part: { type: 'all', timesOf: null }, change: { subject: 'Quiet' } } as const
    const silent = { ...host.options, notify: false }
    const before = await host.client.get(place.key)
    await expect(host.writer.changeEvent(quiet, silent)).rejects.toMatchObject({ kind: 'unsupported' })
    const removed = host.writer.removeEvent({ place, part: { type: 'all' } }, silent)
    await expect(removed).rejects.toMatchObject({ kind: 'unsupported' })
    expect(await host.client.get(place.key)).toBe(before)
  })
})
