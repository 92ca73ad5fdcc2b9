import { addCalendar, shareCalendar } from '../../../../../../sandbox/src/microsoft/mailbox/calendars.ts'
import { EVENT_DEFAULTS } from '../../../../../../sandbox/src/microsoft/mailbox/event.ts'
import {
  addEvent as addOther,
  changeEvent as changeOther,
} from '../../../../../../sandbox/src/microsoft/mailbox/events.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { timesOf, weekly } from '../../../../../test/graph/arrange-calendars.ts'
import { creation, failing, openWriting, series } from '../../../../../test/graph/calendar-writing.ts'
import { type GraphServer, startGraph } from '../../../../../test/graph/graph-server.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

const recurrence = series('FREQ=WEEKLY;COUNT=6')
const following = (day: string) =>
  ({ type: 'following', member: `${day}T090000`, memberKey: null, ...creation() }) as const
const failed = () => Response.json({ error: { code: 'ErrorItemSave' } }, { status: 500 })

describe('a series that is split', () => {
  test('has the new place, and no other', async () => {
    const { create, change, itemIn, there } = await openWriting(server)
    const { key } = await create({ recurrence, location: 'Room 5' })
    const after = await change(key, { location: 'Room 6' }, following('20261215'))
    expect(itemIn(after).event?.location).toBe('Room 6')
    expect(there().map(({ locations }) => locations.length)).toEqual([1, 1])
  })

  test('has a meeting of its own in all bodies', async () => {
    const { create, change, itemIn, there } = await openWriting(server)
    const made = await create({ recurrence, onlineMeeting: true })
    const old = made.event!.onlineMeetingUrl!
    const body = { contentType: 'html', content: '<p>Own</p>' } as const
    await change(made.key, { body }, { type: 'member', member: '20261222T090000', memberKey: null })
    const after = await change(
      made.key,
      { body: { contentType: 'html', content: '<p>New</p>' } },
      following('20261215'),
    )
    const { event, members } = itemIn(after)
    const url = event!.onlineMeetingUrl!
    expect(url).not.toBe(old)
    const exception = members?.exceptions[0]?.event
    for (const one of [event, exception]) {
      expect(one?.onlineMeetingUrl).toBe(url)
      expect(one?.body?.content).toContain(url)
      expect(one?.body?.content).not.toContain(old)
    }
    expect([event?.body?.content, exception?.body?.content]).toEqual([
      expect.stringContaining('New'),
      expect.stringContaining('Own'),
    ])
    const none = await change(made.key, { onlineMeeting: false }, following('20261208'))
    expect(itemIn(none).event?.onlineMeetingUrl).toBeNull()
    expect(there()).toHaveLength(3)
  })

  test('or moved has a meeting, or nothing is written', async () => {
    const { create, change, there, writer, options, calendarKey, mailbox } = await openWriting(server)
    const { key } = await create({ recurrence, onlineMeeting: true })
    server.intercept = ({ path }) =>
      path.includes('allowedOnlineMeetingProviders')
        ? Response.json({ allowedOnlineMeetingProviders: [] })
        : null
    expect(await failing(change(key, { subject: 'New' }, following('20261215')))).toBe('unsupported')
    const toCalendarKey = addCalendar(mailbox, 'Travel', 'auto').id
    const asked = { place: { calendarKey, key }, toCalendarKey, ...creation() }
    expect(await failing(writer.moveEvent(asked, options))).toBe('unsupported')
    server.intercept = null
    expect(there()).toHaveLength(1)
  })

  test.each([
    [400, 'ErrorInvalidRequest', 'rejected'],
    [412, 'ErrorIrresolvableConflict', 'conflict'],
  ])('stays whole if Exchange refuses its end with %i', async (status, code, kind) => {
    const { create, change, there } = await openWriting(server)
    const { key } = await create({ recurrence })
    server.intercept = ({ method }) =>
      method === 'PATCH' ? Response.json({ error: { code } }, { status }) : null
    expect(await failing(change(key, { subject: 'New' }, following('20261215')))).toBe(kind)
    server.intercept = null
    expect(there().map(({ immutableId }) => immutableId)).toEqual([key])
  })

  test('of somebody else is left alone', async () => {
    const { change, there, mailbox } = await openWriting(server)
    const { immutableId: key } = addOther(mailbox, mailbox.calendars.main, {
      fields: { ...EVENT_DEFAULTS, ...timesOf('20261201T090000', '20261201T100000') },
      recurrence: weekly('20261201T090000', 6),
      uid: 'SHARED',
      organizer: { name: 'Olga', address: 'olga@example.com' },
      isOrganizer: false,
    })
    const before = there()
    expect(await failing(change(key, { subject: 'New' }, following('20261215')))).toBe('forbidden')
    expect(await failing(change(key, { subject: 'New' }))).toBe('forbidden')
    const member = { type: 'member', member: '20261215T090000', memberKey: null } as const
    expect(await failing(change(key, { subject: 'New' }, member))).toBe('forbidden')
    expect(there()).toEqual(before)
    await change(key, { showAs: 'free' })
  })
})

describe('an event that is moved', () => {
  const open = async () => {
    const arranged = await openWriting(server)
    const { create, event, mailbox, calendarKey, writer, options, there } = arranged
    const travel = addCalendar(mailbox, 'Travel', 'auto')
    const { key } = await create()
    const given = creation()
    const move = (mayExist: boolean) =>
      writer.moveEvent({ place: { calendarKey, key }, toCalendarKey: travel.id, ...given, mayExist }, options)
    const correct = (subject: string) =>
      void changeOther(mailbox, mailbox.calendars.main, event(key), { subject })
    const subjects = () => [there(), [...travel.events.values()]].map(all => all.map(one => one.subject))
    return { move, correct, subjects, isOriginal: (path: string) => path.includes(encodeURIComponent(key)) }
  }

  test('has what another client changes meanwhile', async () => {
    const { move, correct, subjects, isOriginal } = await open()
    let changes = 2
    server.intercept = ({ method, path }) => {
      if (method === 'DELETE' && isOriginal(path) && changes-- > 0) correct(`Corrected ${changes}`)
      return null
    }
    await move(false)
    server.intercept = null
    expect(subjects()).toEqual([[], ['Corrected 0']])
  })

  test('has what another client changed between two tries, and stays if it changes all the time', async () => {
    const { move, correct, subjects, isOriginal } = await open()
    server.intercept = ({ method, path }) => (method === 'DELETE' && isOriginal(path) ? failed() : null)
    expect(await failing(move(false))).toBe('unavailable')
    let changes = 0
    server.intercept = ({ method, path }) => {
      if (method === 'DELETE' && isOriginal(path)) correct(`Corrected ${(changes += 1)}`)
      return null
    }
    expect(await failing(move(true))).toBe('conflict')
    expect(subjects()).toEqual([[`Corrected ${changes}`], []])
    server.intercept = null
    await move(true)
    expect(subjects()).toEqual([[], [`Corrected ${changes}`]])
  })
})

describe('an event, or a calendar', () => {
  test('that was made does not read as gone because Graph does not show it yet', async () => {
    const { create, there } = await openWriting(server)
    server.intercept = ({ method, path }) =>
      method === 'GET' && /\/events\/[^?]*\?/.test(path)
        ? Response.json({ error: { code: 'ErrorItemNotFound' } }, { status: 404 })
        : null
    const given = creation()
    expect(await failing(create({}, given))).toBe('unavailable')
    server.intercept = null
    await create({}, given)
    expect(there()).toHaveLength(1)
  })

  test('that somebody else shares is not taken for one that was made', async () => {
    const { writer, mailbox } = await openWriting(server)
    const other = server.addUser().mailbox
    shareCalendar(mailbox, other.calendars.main, 'write')
    const [{ name } = { name: '' }] = mailbox.calendars.shared.values()
    const fields = { name, description: null, color: null, timeZone: null }
    expect(await failing(writer.createCalendar({ ...fields, ...creation(), mayExist: true }))).toBe(
      'rejected',
    )
  })

  test('that was declined stays where the mailbox keeps those', async () => {
    const { writer, options, mailbox, calendarKey, itemIn } = await openWriting(server)
    mailbox.keepsDeclined = true
    const { immutableId: key } = addOther(mailbox, mailbox.calendars.main, {
      fields: {
        ...EVENT_DEFAULTS,
        ...timesOf('20261201T090000', '20261201T100000'),
        response: { response: 'notResponded', at: null },
      },
      recurrence: null,
      uid: 'INVITED',
      organizer: { name: 'Olga', address: 'olga@example.com' },
      isOrganizer: false,
    })
    const asked = { place: { calendarKey, key }, part: { type: 'all' }, response: 'declined' } as const
    const written = await writer.respond({ ...asked, comment: null }, options)
    expect([itemIn(written).event?.self?.response, written.gone]).toEqual(['declined', []])
  })
})
