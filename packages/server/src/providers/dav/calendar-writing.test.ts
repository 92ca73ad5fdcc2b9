import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { arrangeCalendars, CALDAV_SERVERS, openUser } from '../../../test/servers/caldav-world.ts'
import { startCyrusDav } from '../../../test/servers/cyrus-dav.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { never } from '../conformance/arrangement.ts'
import { describeChangingCalendars, PLAIN_EVENT } from '../conformance/changing-calendars.ts'
import { openFileThread } from './file-thread.ts'

const fileThread = openFileThread()
afterAll(() => fileThread[Symbol.asyncDispose]())

describe.concurrent.each(CALDAV_SERVERS)('$name', ({ name, start, lacks }) => {
  const server = useServer(start)
  describeChangingCalendars(name, () => arrangeCalendars(server(), fileThread, lacks))
})

const window = { start: new Date('2026-09-01'), end: new Date('2027-09-01') }
/** The domain of its users. */
const HOST = 'cyrus.test'

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
    const options = { self, own: new Set([self.address]), notify: true, window }
    return { ...user, writer: account.calendars.writer!, key: calendar!.key, self, read, options, account }
  }

  test('tells people unless it is asked not to, and tells them later', async () => {
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
    await host.writer.changeEvent(quiet, { ...host.options, notify: false })
    expect(await guest.read()).toMatchObject([{ event: { subject: 'Come', status: 'confirmed' } }])
    await host.writer.removeEvent({ place, part: { type: 'all' } }, { ...host.options, notify: false })
    expect(await guest.read()).toMatchObject([{ event: { status: 'confirmed' } }])
  })
})
