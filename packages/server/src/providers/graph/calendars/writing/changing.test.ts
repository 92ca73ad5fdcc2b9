import { changeEvent as changeOther } from '../../../../../../sandbox/src/microsoft/mailbox/events.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ADA,
  at,
  BEN,
  creation,
  failing,
  membersOf,
  openWriting,
  series,
} from '../../../../../test/graph/calendar-writing.ts'
import { type GraphServer, startGraph } from '../../../../../test/graph/graph-server.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

const open = (cloud: Parameters<typeof openWriting>[1] = 'global') => openWriting(server, cloud)

describe('changing', () => {
  test('leaves what it does not name, and keeps the responses of attendees who stay', async () => {
    const { create, changed, event, mailbox } = await open()
    const { key } = await create({ attendees: [ADA, BEN], location: 'Room 4' })
    changeOther(mailbox, mailbox.calendars.main, event(key), {
      attendees: event(key).attendees.map(one => ({ ...one, status: { response: 'accepted', at: 1 } })),
      categories: ['Red'],
    })
    const cleo = { name: 'Cleo', address: 'cleo@example.com', type: 'required' } as const
    const after = await changed(key, { attendees: [{ ...BEN, address: 'BEN@example.com' }, cleo] })
    expect(after.event).toMatchObject({
      location: 'Room 4',
      categories: ['Red'],
      attendees: [
        { address: 'ben@example.com', type: 'optional', response: 'accepted' },
        { address: 'cleo@example.com', response: 'needs_action' },
      ],
    })
    expect((await changed(key, { attendees: [] })).event?.attendees).toEqual([])
  })

  test('is applied again if another client is faster, and given up after a while', async () => {
    const { create, changed, event, mailbox } = await open()
    const { key } = await create()
    let others = 2
    server.intercept = ({ method }) => {
      if (method === 'PATCH' && others-- > 0)
        changeOther(mailbox, mailbox.calendars.main, event(key), { categories: [`${others}`] })
      return null
    }
    const after = await changed(key, { subject: 'Mine' })
    expect(after.event).toMatchObject({ subject: 'Mine', categories: ['0'] })
    others = 10
    expect(await failing(changed(key, { subject: 'Again' }))).toBe('conflict')
    server.intercept = null
    expect(event(key).subject).toBe('Mine')
  })

  test('an online meeting stays with a new body, and is not taken away', async () => {
    const { create, changed } = await open()
    const made = await create({ onlineMeeting: true, body: { contentType: 'text', content: 'Plans' } })
    const { onlineMeetingUrl } = made.event!
    expect(made.event).toMatchObject({ onlineMeetingProvider: 'teams' })
    for (const body of [
      { contentType: 'text', content: 'a < b' } as const,
      { contentType: 'html', content: '<p>New</p>' } as const,
      null,
    ]) {
      const { event } = await changed(made.key, { body })
      expect(event).toMatchObject({ onlineMeetingUrl, onlineMeetingProvider: 'teams' })
      expect(event?.body?.content).toContain('Microsoft Teams meeting')
      expect(event?.body?.content).not.toContain('Plans')
    }
    expect(await failing(changed(made.key, { onlineMeeting: false }))).toBe('unsupported')
    expect((await changed(made.key, { onlineMeeting: true })).event?.onlineMeetingUrl).toBe(onlineMeetingUrl)
  })

  test('the link to a meeting at another service is that of the location', async () => {
    const { create, changed } = await open()
    const url = 'https://meet.example.com/room'
    const { key, event } = await create({
      onlineMeetingUrl: url,
      body: { contentType: 'text', content: 'Hi' },
    })
    expect(event).toMatchObject({ location: url, onlineMeetingUrl: url, onlineMeetingProvider: 'other' })
    expect(event?.body?.content).toContain(url)
    const moved = await changed(key, { location: 'Room 4' })
    expect(moved.event).toMatchObject({ location: 'Room 4', onlineMeetingUrl: url })
    const cleared = await changed(key, { onlineMeetingUrl: null })
    expect(cleared.event).toMatchObject({ location: 'Room 4', onlineMeetingUrl: null })
  })

  test('a calendar of a person has no online meetings', async () => {
    const { create, there } = await open()
    server.intercept = ({ path }) =>
      path.includes('allowedOnlineMeetingProviders')
        ? Response.json({ allowedOnlineMeetingProviders: [] })
        : null
    expect(await failing(create({ onlineMeeting: true }))).toBe('unsupported')
    server.intercept = null
    expect(there()).toEqual([])
  })

  test('makes a single a series, and a series its first occurrence', async () => {
    const { create, changed } = await open()
    const { key } = await create()
    const recurrence = series('FREQ=WEEKLY;COUNT=4', ['20261215T090000'])
    const made = await changed(key, { recurrence })
    expect([membersOf(made), made.members?.taken]).toEqual([
      ['20261201', '20261208', '20261222'],
      ['20261215T090000'],
    ])
    const single = await changed(key, { recurrence: null, subject: 'Once' })
    expect(single).toMatchObject({
      recurrence: null,
      event: { subject: 'Once', start: at('20261201T090000') },
    })
  })
})

describe('calendars', () => {
  test('are made once, changed and deleted', async () => {
    const { writer, calendars } = await open()
    const fields = { name: 'Travel', description: null, color: '#ff9090', timeZone: null }
    const given = creation()
    const made = await writer.createCalendar({ ...fields, ...given })
    expect(made).toMatchObject({ name: 'Travel', color: '#f88c9b', access: 'owner', isPrimary: false })
    expect(await writer.createCalendar({ ...fields, ...given, mayExist: true })).toEqual(made)
    // A calendar of the name that is not of this creation is no earlier try of it.
    for (const mayExist of [false, true])
      expect(await failing(writer.createCalendar({ ...fields, ...creation(), mayExist }))).toBe('rejected')
    const changed = await writer.changeCalendar(made.key, { name: 'Trips', color: null })
    expect(changed).toMatchObject({ key: made.key, name: 'Trips', color: null })
    for (const change of [{ description: 'x' }, { timeZone: 'Asia/Tokyo' }])
      expect(await failing(writer.changeCalendar(made.key, change))).toBe('unsupported')
    await writer.removeCalendar(made.key)
    expect(await failing(writer.removeCalendar(made.key))).toBe('not_found')
    expect(await calendars.listCalendars(new AbortController().signal)).toHaveLength(1)
  })
})
