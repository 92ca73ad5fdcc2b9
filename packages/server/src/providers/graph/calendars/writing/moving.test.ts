import { addCalendar } from '../../../../../../sandbox/src/microsoft/mailbox/calendars.ts'
import { EVENT_DEFAULTS, type EventFields } from '../../../../../../sandbox/src/microsoft/mailbox/event.ts'
import { addEvent as addOther } from '../../../../../../sandbox/src/microsoft/mailbox/events.ts'
import { timesOf } from '../../../../../test/graph/arrange-calendars.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADA, creation, failing, openWriting, series } from '../../../../../test/graph/calendar-writing.ts'
import { type GraphServer, startGraph } from '../../../../../test/graph/graph-server.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

const open = (cloud: Parameters<typeof openWriting>[1] = 'global') => openWriting(server, cloud)

describe('moving', () => {
  test('makes a copy in the other calendar, once, and deletes the event', async () => {
    const { create, change, writer, options, calendarKey, mailbox, there } = await open()
    const travel = addCalendar(mailbox, 'Travel', 'auto')
    const { key } = await create({
      recurrence: series('FREQ=WEEKLY;COUNT=3', ['20261208T090000']),
      location: 'Room 4',
      body: { contentType: 'html', content: '<p>Plans</p>' },
    })
    await change(key, { subject: 'Other' }, { type: 'member', member: '20261215T090000', memberKey: null })
    const given = creation()
    const asked = { place: { calendarKey, key }, toCalendarKey: travel.id }
    server.intercept = ({ method, path }) =>
      method === 'DELETE' && path.includes(encodeURIComponent(calendarKey))
        ? Response.json({ error: { code: 'ErrorItemSave' } }, { status: 500 })
        : null
    expect(await failing(writer.moveEvent({ ...asked, ...given }, options))).toBe('unavailable')
    server.intercept = null
    for (let tries = 0; tries < 2; tries += 1) {
      const { items, gone, place } = await writer.moveEvent({ ...asked, ...given, mayExist: true }, options)
      expect([there().length, travel.events.size, gone]).toEqual([0, 1, [asked.place]])
      expect(place.calendarKey).toBe(travel.id)
      expect(items).toMatchObject([
        {
          calendarKey: travel.id,
          object: {
            event: { location: 'Room 4', body: { content: expect.stringContaining('Plans') } },
            members: { taken: ['20261208T090000'], exceptions: [{ event: { subject: 'Other' } }] },
          },
        },
      ])
    }
  })

  test('an event with attendees is refused', async () => {
    const { create, writer, options, calendarKey, mailbox } = await open()
    const travel = addCalendar(mailbox, 'Travel', 'auto')
    const { key } = await create({ attendees: [ADA] })
    const asked = { place: { calendarKey, key }, toCalendarKey: travel.id, ...creation() }
    expect(await failing(writer.moveEvent(asked, options))).toBe('unsupported')
  })
})

describe('an invitation', () => {
  const invited = async (fields: Partial<EventFields> = {}) => {
    const arranged = await open()
    const { mailbox, email, calendarKey, writer, options } = arranged
    const self = {
      name: 'Eva',
      address: email,
      type: 'required',
      status: { response: 'none', at: null },
    } as const
    const { immutableId } = addOther(mailbox, mailbox.calendars.main, {
      fields: {
        ...EVENT_DEFAULTS,
        ...timesOf('20261201T090000', '20261201T100000'),
        attendees: [self],
        response: { response: 'notResponded', at: null },
        ...fields,
      },
      recurrence: null,
      uid: 'INVITED',
      organizer: { name: 'Olga', address: 'olga@example.com' },
      isOrganizer: false,
    })
    const place = { calendarKey, key: immutableId }
    const respond = (response: 'accepted' | 'tentative' | 'declined', notify = true) =>
      writer.respond({ place, part: { type: 'all' }, response, comment: 'Thanks' }, { ...options, notify })
    return { ...arranged, place, respond }
  }

  test('is answered', async () => {
    const { respond, itemIn } = await invited()
    for (const response of ['accepted', 'tentative'] as const)
      expect(itemIn(await respond(response, response === 'accepted')).event?.self).toEqual({
        isOrganizer: false,
        response,
      })
  })

  test('leaves the calendar once it is declined, or deleted', async () => {
    const { respond, place, there } = await invited()
    expect(await respond('declined')).toEqual({ items: [], gone: [place], place })
    expect(there()).toEqual([])
    for (const notify of [true, false]) {
      const { writer, options, place: other, there: left } = await invited()
      await writer.removeEvent({ place: other, part: { type: 'all' } }, { ...options, notify })
      expect(left()).toEqual([])
    }
  })

  test('has fields of its own that nobody is told of', async () => {
    const { writer, options, place, itemIn } = await invited()
    const change = { showAs: 'free', reminderMinutes: 30 } as const
    const asked = { place, part: { type: 'all', timesOf: null }, change } as const
    const item = itemIn(await writer.changeEvent(asked, { ...options, notify: false }))
    expect(item.event).toMatchObject(change)
  })

  test('is not answered by its organizer', async () => {
    const { create, writer, options, calendarKey } = await open()
    const { key } = await create({ attendees: [ADA] })
    const asked = {
      place: { calendarKey, key },
      part: { type: 'all' },
      response: 'accepted',
      comment: null,
    } as const
    expect(await failing(writer.respond(asked, options))).toBe('rejected')
  })
})
