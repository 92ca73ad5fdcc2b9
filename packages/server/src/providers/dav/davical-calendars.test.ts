import { randomUUID } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { openUser } from '../../../test/servers/caldav-world.ts'
import { startDavical } from '../../../test/servers/davical.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { never } from '../conformance/arrangement.ts'
import { PLAIN_EVENT } from '../conformance/changing-calendars-account.ts'
import { openEventIndex } from '../conformance/event-index.ts'
import { openFileThread } from './file-thread.ts'
import { pathOf } from './hrefs.ts'

/*
 * DAViCal 1.1.12 does not pass the whole contract: it answers a token that it has never issued as if it were none, and escapes
 * an ampersand in the name of a calendar twice.
 */

const fileThread = openFileThread()
afterAll(() => fileThread[Symbol.asyncDispose]())
const server = useServer(startDavical)
const WINDOW = { start: new Date('2026-09-01'), end: new Date('2027-09-01') }
const DAILY = { rule: 'FREQ=DAILY;COUNT=5', dates: [], taken: [] }
const member = (wall: string) => ({ type: 'member', member: wall, memberKey: null }) as const

/** A user with a calendar, and the index of it. */
async function openCalendar() {
  const { client, home, connect, name } = await openUser(server(), fileThread)
  const key = pathOf(await client.makeCalendar('work'), home)!
  const account = connect()
  const { calendars } = account
  const listed = await calendars.listCalendars(never)
  const index = openEventIndex(
    listed.find(calendar => calendar.key === key)!,
    WINDOW,
  )
  const self = { name: null, address: `${name}@dav.test` }
  const options = { self, own: new Set([self.address]), notify: true, concernsOthers: true, window: WINDOW }
  const follow = async () => {
    await index.follow(calendars)
    return index.items().map(item => item.event!)
  }
  return {
    client,
    home,
    key,
    writer: calendars.writer!,
    index,
    options,
    self,
    follow,
    [Symbol.asyncDispose]: () => account[Symbol.asyncDispose](),
  }
}

test('events of DAViCal are followed by its tokens, and written', async () => {
  await using opened = await openCalendar()
  const { writer, options, key, follow, index, client } = opened
  const create = { calendarKey: key, creationId: randomUUID(), mayExist: false }
  const fields = { ...PLAIN_EVENT, subject: 'Daily; so', recurrence: DAILY }
  const { place } = await writer.createEvent({ ...create, fields }, options)
  const again = await writer.createEvent({ ...create, fields, mayExist: true }, options)
  expect(again.place).toEqual(place)
  expect(await follow()).toMatchObject([{ subject: 'Daily; so' }])
  index.takeSteps()

  const change = { place, part: member('20261203T090000'), change: { location: 'Room 5' } }
  await writer.changeEvent(change, options)
  await writer.removeEvent({ place, part: member('20261202T090000') }, options)
  const creationId = randomUUID()
  const following = { ...member('20261204T090000'), type: 'following', creationId, mayExist: false } as const
  const rest = await writer.changeEvent({ place, part: following, change: { subject: 'Rest' } }, options)
  expect((await follow()).map(({ subject }) => subject).toSorted()).toEqual(['Daily; so', 'Rest'])
  expect(index.members(place.key)).toEqual({ '20261202T090000': null, '20261203T090000': 'Daily; so' })
  // Only what has changed was brought.
  expect(index.takeSteps().map(({ type }) => type)).toEqual(['items', 'end'])

  const other = pathOf(await client.makeCalendar('other'), opened.home)!
  const move = { place: rest.place, toCalendarKey: other, creationId: randomUUID(), mayExist: false }
  const moved = await writer.moveEvent(move, options)
  expect(await follow()).toMatchObject([{ subject: 'Daily; so' }])
  await writer.removeEvent({ place: moved.place, part: { type: 'all' } }, options)
  await expect(client.get(moved.place.key)).rejects.toThrow('404')
})

test('DAViCal itself invites people, and brings their answers', async () => {
  await using host = await openCalendar()
  await using guest = await openCalendar()
  expect(await host.writer.tellsPeople(host.key, never)).toBe(true)
  const attendees = [{ name: 'Guest', address: guest.self.address, type: 'required' as const }]
  const creation = { creationId: randomUUID(), mayExist: false }
  const event = { calendarKey: host.key, fields: { ...PLAIN_EVENT, attendees }, ...creation }
  const { place } = await host.writer.createEvent(event, host.options)
  const [invitation] = await waitUntil('the invitation', async () => {
    const found = await guest.follow()
    return found.length > 0 ? found : null
  })
  expect(invitation).toMatchObject({
    subject: PLAIN_EVENT.subject,
    organizer: { address: host.self.address },
  })
  const answered = { calendarKey: guest.key, key: guest.index.items()[0]!.key }
  const answer = { place: answered, part: { type: 'all' }, response: 'accepted', comment: null } as const
  await guest.writer.respond(answer, guest.options)
  await waitUntil('the answer', async () => {
    const [found] = await host.follow()
    return found?.attendees.some(({ response }) => response === 'accepted') ? found : null
  })

  const all = { type: 'all', timesOf: null } as const
  const start = { wall: '20261202T140000', zone: 'Europe/Berlin' }
  await host.writer.changeEvent({ place, part: all, change: { start } }, host.options)
  await waitUntil('the new time', async () => {
    const [found] = await guest.follow()
    return found?.start.wall === start.wall ? found : null
  })
  await host.writer.removeEvent({ place, part: { type: 'all' } }, host.options)
  await waitUntil('the end of the event', async () => {
    const found = await guest.follow()
    return found.every(({ status }) => status === 'cancelled') ? found : null
  })
})
