import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addCalendar } from '../../../../../../sandbox/src/microsoft/mailbox/calendars.ts'
import {
  addEvent as addOther,
  changeEvent as changeOther,
} from '../../../../../../sandbox/src/microsoft/mailbox/events.ts'
import { EVENT_DEFAULTS, type EventFields } from '../../../../../../sandbox/src/microsoft/mailbox/event.ts'
import { occurrencesIn } from '../../../../../../sandbox/src/microsoft/mailbox/occurrences.ts'
import { arrangeCalendars, timesOf } from '../../../../../test/graph/arrange-calendars.ts'
import { type GraphServer, startGraph } from '../../../../../test/graph/graph-server.ts'
import { newId } from '../../../../kit/ids.ts'
import type { RemoteItem } from '../../../calendars.ts'
import type { ChangedPart, EventChange, EventInput, WrittenEvents } from '../../../changing-calendars.ts'
import { ProviderFailure } from '../../../failure.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

const WINDOW = { start: new Date('2026-09-01T00:00:00Z'), end: new Date('2027-11-29T00:00:00Z') }
const BERLIN = 'Europe/Berlin'
const at = (wall: string) => ({ wall, zone: BERLIN })
const ADA = { name: 'Ada', address: 'ada@example.com', type: 'required' } as const
const BEN = { name: null, address: 'ben@example.com', type: 'optional' } as const

const INPUT: EventInput = {
  start: at('20261201T090000'),
  end: at('20261201T100000'),
  subject: 'Talk',
  location: null,
  body: null,
  attendees: [],
  recurrence: null,
  showAs: 'busy',
  sensitivity: 'normal',
  onlineMeeting: false,
  onlineMeetingUrl: null,
}
const series = (rule: string, taken: readonly string[] = []) => ({ rule, dates: [], taken })
const creation = () => ({ creationId: newId(), mayExist: false })

async function open(cloud: 'global' | 'gcc-high' | 'dod' | 'china' = 'global') {
  const arranged = arrangeCalendars(server, cloud)
  const { email, mailbox } = arranged
  const { calendars } = server.connect(email)
  const writer = calendars.writer!
  const options = {
    self: { name: 'Eva', address: email },
    own: new Set([email]),
    notify: true,
    window: WINDOW,
  }
  const { calendarKey } = arranged
  const itemIn = ({ items, place }: WrittenEvents): RemoteItem => {
    const object = items.find(one => one.object.key === place.key)?.object
    if (object?.type !== 'item') throw new Error('The item was not written')
    return object
  }
  const create = async (fields: Partial<EventInput> = {}, given = creation()) =>
    itemIn(await writer.createEvent({ calendarKey, fields: { ...INPUT, ...fields }, ...given }, options))
  const change = async (
    key: string,
    changes: EventChange,
    part: ChangedPart = { type: 'all', timesOf: null },
  ) => writer.changeEvent({ place: { calendarKey, key }, part, change: changes }, options)
  const changed = async (key: string, changes: EventChange) => itemIn(await change(key, changes))
  const there = () => [...mailbox.calendars.main.events.values()]
  return { ...arranged, calendars, writer, options, itemIn, create, change, changed, there }
}

const membersOf = ({ occurrences }: RemoteItem) => occurrences?.map(({ member }) => member.slice(0, 8))
const failing = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => (error instanceof ProviderFailure ? error.kind : error),
  )

describe.each(['global', 'gcc-high', 'dod', 'china'] as const)('in the cloud %s', cloud => {
  test('an event is created, changed, answered with its fields, and deleted', async () => {
    const { create, changed, writer, options, calendarKey, there } = await open(cloud)
    const made = await create({
      location: 'Room 4',
      body: { contentType: 'text', content: 'Plans & budget' },
      attendees: [ADA],
      showAs: 'working_elsewhere',
      sensitivity: 'private',
      reminderMinutes: 5,
    })
    expect(made.event).toMatchObject({
      subject: 'Talk',
      start: at('20261201T090000'),
      end: at('20261201T100000'),
      location: 'Room 4',
      attendees: [ADA],
      showAs: 'working_elsewhere',
      sensitivity: 'private',
      reminderMinutes: 5,
      body: { content: expect.stringContaining('Plans &amp; budget') },
    })
    const { event } = await changed(made.key, {
      start: at('20261202T090000'),
      subject: null,
      location: null,
      reminderMinutes: null,
    })
    expect(event).toMatchObject({
      subject: null,
      location: null,
      reminderMinutes: null,
      end: at('20261202T100000'),
    })
    const place = { calendarKey, key: made.key }
    expect(await writer.removeEvent({ place, part: { type: 'all' } }, options)).toEqual({
      items: [],
      gone: [place],
      place,
    })
    expect(there()).toEqual([])
  })
})

describe('creating', () => {
  test('twice finds what the first try made, whatever became of its answer', async () => {
    const { create, writer, calendarKey, there } = await open()
    const given = creation()
    const recurrence = series('FREQ=WEEKLY;COUNT=4', ['20261208T090000'])
    server.intercept = ({ method, path }) =>
      method === 'DELETE' || path.includes('/instances')
        ? Response.json({ error: { code: 'ErrorInternalServerError' } }, { status: 500 })
        : null
    expect(await failing(create({ recurrence }, given))).toBe('unavailable')
    server.intercept = null
    const item = await create({ recurrence }, { ...given, mayExist: true })
    expect(membersOf(item)).toEqual(['20261201', '20261215', '20261222'])
    expect(item.members?.taken).toEqual(['20261208T090000'])
    // Also if nobody knows of the first try.
    expect((await create({ recurrence }, given)).key).toBe(item.key)
    expect(there()).toHaveLength(1)
    const { creationId } = given
    expect(await writer.findCreated({ calendarKey, creationId }, new AbortController().signal)).toBe(item.key)
    expect(
      await writer.findCreated({ calendarKey, creationId: newId() }, new AbortController().signal),
    ).toBeNull()
  })

  test.each([
    ['FREQ=DAILY', 'FREQ=DAILY;INTERVAL=1'],
    ['FREQ=DAILY;BYDAY=TU,WE', 'FREQ=WEEKLY;BYDAY=TU,WE;WKST=MO;INTERVAL=1'],
    ['FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU', 'FREQ=WEEKLY;BYDAY=TU,SU;WKST=MO;INTERVAL=2'],
    ['FREQ=MONTHLY;COUNT=3', 'FREQ=MONTHLY;BYMONTHDAY=1;INTERVAL=1;COUNT=3'],
    ['FREQ=MONTHLY;BYDAY=1TU', 'FREQ=MONTHLY;BYDAY=TU;BYSETPOS=1;INTERVAL=1'],
    [
      'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1',
      'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1;INTERVAL=1',
    ],
    ['FREQ=YEARLY;COUNT=2', 'FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=1;INTERVAL=1;COUNT=2'],
    ['FREQ=DAILY;UNTIL=20261203T080000Z', 'FREQ=DAILY;INTERVAL=1;UNTIL=20261203T225959Z'],
    ['FREQ=DAILY;UNTIL=20261203T075959Z', 'FREQ=DAILY;INTERVAL=1;UNTIL=20261202T225959Z'],
  ])('a series of %s', async (rule, read) => {
    const { create } = await open()
    const { recurrence } = await create({ recurrence: series(rule) })
    expect(recurrence?.map(line => line.replaceAll(/BYDAY=[\w,]+/g, days => sorted(days)))).toEqual([
      `RRULE:${read.replaceAll(/BYDAY=[\w,]+/g, days => sorted(days))}`,
    ])
  })

  test('the last day of months, however they are named', async () => {
    const { create } = await open()
    const times = { start: at('20261231T090000'), end: at('20261231T100000') }
    for (const rule of ['BYMONTHDAY=-1', 'BYMONTHDAY=28,29,30,31;BYSETPOS=-1'])
      expect(
        membersOf(await create({ ...times, recurrence: series(`FREQ=MONTHLY;COUNT=3;${rule}`) })),
      ).toEqual(['20261231', '20270131', '20270228'])
    expect(await failing(create({ ...times, recurrence: series('FREQ=MONTHLY;BYMONTHDAY=31') }))).toBe(
      'unsupported',
    )
  })

  test.each([
    'FREQ=HOURLY',
    'FREQ=DAILY;BYHOUR=9,15',
    'FREQ=YEARLY;BYWEEKNO=49;BYDAY=TU',
    'FREQ=YEARLY;BYYEARDAY=335',
    'FREQ=MONTHLY;BYDAY=1TU,3TU',
    'FREQ=MONTHLY;BYDAY=TU;BYMONTHDAY=1',
    'FREQ=DAILY;BYMONTH=12',
    'FREQ=YEARLY;BYMONTH=6,12',
    'FREQ=DAILY;COUNT=1500',
  ])('a series of %s is refused before anything is written', async rule => {
    const { create, there } = await open()
    expect(await failing(create({ recurrence: series(rule) }))).toBe('unsupported')
    const dates = [{ wall: '20261205T090000', end: null }]
    const recurrence = { rule: 'FREQ=WEEKLY', dates, taken: [] }
    expect(await failing(create({ recurrence }))).toBe('unsupported')
    expect(there()).toEqual([])
  })

  test('whole days lie in the zone of the mailbox, and zones have the names of Exchange', async () => {
    const { create, mailbox, there } = await open()
    mailbox.timeZone = 'Eastern Standard Time'
    const day = (wall: string) => ({ wall, zone: null })
    const { event } = await create({ start: day('20261224'), end: day('20261227') })
    expect(event).toMatchObject({ start: day('20261224'), end: day('20261227') })
    await create({
      start: { wall: '20261201T090000', zone: 'Asia/Calcutta' },
      end: { wall: '20261201T100000', zone: 'Asia/Calcutta' },
    })
    expect(there().map(({ startZone }) => startZone)).toEqual([
      'Eastern Standard Time',
      'India Standard Time',
    ])
    const nowhere = { wall: '20261201T090000', zone: 'Antarctica/Troll' }
    expect(await failing(create({ start: nowhere, end: nowhere }))).toBe('unsupported')
  })

  test('without telling the attendees is refused', async () => {
    const { writer, options, calendarKey, there } = await open()
    const event = { calendarKey, fields: { ...INPUT, attendees: [ADA] }, ...creation() }
    expect(await failing(writer.createEvent(event, { ...options, notify: false }))).toBe('unsupported')
    expect(there()).toEqual([])
  })
})

const sorted = (days: string) => `BYDAY=${days.slice(6).split(',').toSorted().join(',')}`

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

describe('a series', () => {
  const opened = async () => {
    const arranged = await open()
    const { key } = await arranged.create({ recurrence: series('FREQ=WEEKLY;COUNT=6', ['20261222T090000']) })
    const { calendarKey, options, writer, itemIn } = arranged
    const member = (wall: string) => ({ type: 'member', member: wall, memberKey: null }) as const
    const moved = { start: at('20261209T150000'), end: at('20261209T170000') }
    const excepted = await arranged.change(key, { subject: 'Other', ...moved }, member('20261208T090000'))
    const place = { calendarKey, key }
    const remove = async (part: Parameters<typeof writer.removeEvent>[0]['part']) =>
      writer.removeEvent({ place, part }, options)
    return { ...arranged, key, place, member, remove, excepted: itemIn(excepted) }
  }

  const exceptionsOf = (item: RemoteItem) =>
    item.members?.exceptions.map(({ member, event }) => [
      member,
      event.subject,
      event.start.wall,
      event.end.wall,
    ])

  test('has members of its own', async () => {
    const { excepted } = await opened()
    expect(exceptionsOf(excepted)).toEqual([
      ['20261208T090000', 'Other', '20261209T150000', '20261209T170000'],
    ])
    expect(excepted.members?.taken).toEqual(['20261222T090000'])
  })

  test('moves in time with its exceptions and the members that were deleted', async () => {
    const { change, key, itemIn } = await opened()
    const part = { type: 'all', timesOf: { member: '20261215T090000', memberKey: null } } as const
    const item = itemIn(await change(key, { start: at('20261216T100000') }, part))
    expect(item.event?.start.wall).toBe('20261202T100000')
    expect(membersOf(item)).toEqual(['20261202', '20261209', '20261216', '20261230', '20270106'])
    expect(item.members?.taken).toEqual(['20261223T100000'])
    expect(exceptionsOf(item)).toEqual([['20261209T100000', 'Other', '20261210T160000', '20261210T180000']])
  })

  test('goes on where a change of it stopped', async () => {
    const { change, key, itemIn } = await opened()
    const part = { type: 'all', timesOf: null } as const
    const changes = { start: at('20261201T110000') }
    server.intercept = ({ method }) =>
      method === 'DELETE' ? Response.json({ error: { code: 'ErrorItemSave' } }, { status: 500 }) : null
    expect(await failing(change(key, changes, part))).toBe('unavailable')
    server.intercept = null
    const item = itemIn(await change(key, changes, part))
    expect(item.members?.taken).toEqual(['20261222T110000'])
    expect(exceptionsOf(item)).toEqual([['20261208T110000', 'Other', '20261209T170000', '20261209T190000']])
  })

  test('is split, first the new series and then the end of the old one, whenever a try is broken off', async () => {
    const { change, key, there, event, mailbox, itemIn } = await opened()
    const given = { creationId: newId() }
    const part = (mayExist: boolean) =>
      ({ type: 'following', member: '20261215T090000', memberKey: null, ...given, mayExist }) as const
    server.intercept = ({ method }) =>
      method === 'PATCH' ? Response.json({ error: { code: 'ErrorItemSave' } }, { status: 500 }) : null
    expect(await failing(change(key, { subject: 'New' }, part(false)))).toBe('unavailable')
    server.intercept = null
    expect(there()).toHaveLength(2)
    for (let tries = 0; tries < 2; tries += 1) {
      const after = await change(key, { subject: 'New' }, part(true))
      expect(there()).toHaveLength(2)
      const item = itemIn(after)
      expect(item).toMatchObject({ event: { subject: 'New' }, members: { taken: ['20261222T090000'] } })
      expect(membersOf(item)).toEqual(['20261215', '20261229', '20270105'])
      const old = after.items.find(one => one.object.key === key)!.object as RemoteItem
      expect(membersOf(old)?.toSorted()).toEqual(['20261201', '20261208'])
      expect(exceptionsOf(old)).toEqual([['20261208T090000', 'Other', '20261209T150000', '20261209T170000']])
    }
    expect(occurrencesIn(mailbox, event(key), { from: 0, to: Date.UTC(2030, 0) })).toHaveLength(2)
  })

  test('is split with the exceptions and deleted members that follow', async () => {
    const { change, key, itemIn } = await opened()
    const part = { type: 'following', member: '20261208T090000', memberKey: null, ...creation() } as const
    const after = await change(key, { start: at('20261208T080000') }, part)
    const item = itemIn(after)
    expect(membersOf(item)).toEqual(['20261208', '20261215', '20261229', '20270105'])
    expect(item.members?.taken).toEqual(['20261222T080000'])
    expect(exceptionsOf(item)).toEqual([['20261208T080000', 'Other', '20261209T140000', '20261209T160000']])
    expect(after.gone).toHaveLength(1)
  })

  test('loses a member, and those that follow', async () => {
    const { remove, member, itemIn, key } = await opened()
    const one = await remove(member('20261208T090000'))
    expect(itemIn(one).members).toEqual({ exceptions: [], taken: ['20261208T090000', '20261222T090000'] })
    expect(one.gone).toHaveLength(1)
    const rest = await remove({ ...member('20261229T090000'), type: 'following' })
    expect(membersOf(itemIn(rest))).toEqual(['20261201', '20261215'])
    expect(itemIn(rest).members?.taken).toEqual(['20261208T090000', '20261222T090000'])
    expect(rest.place.key).toBe(key)
    expect(await failing(remove(member('20261230T090000')))).toBe('not_found')
  })

  test('does not let a member pass its neighbour', async () => {
    const { change, key, member } = await opened()
    const work = change(key, { start: at('20261230T090000') }, member('20261215T090000'))
    expect(await failing(work)).toBe('rejected')
  })
})

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

describe('calendars', () => {
  test('are made once, changed and deleted', async () => {
    const { writer, calendars } = await open()
    const fields = { name: 'Travel', description: null, color: '#ff9090', timeZone: null }
    const given = creation()
    const made = await writer.createCalendar({ ...fields, ...given })
    expect(made).toMatchObject({ name: 'Travel', color: '#f88c9b', access: 'owner', isPrimary: false })
    expect(await writer.createCalendar({ ...fields, ...given, mayExist: true })).toEqual(made)
    expect(await failing(writer.createCalendar({ ...fields, ...creation() }))).toBe('rejected')
    const changed = await writer.changeCalendar(made.key, { name: 'Trips', color: null })
    expect(changed).toMatchObject({ key: made.key, name: 'Trips', color: null })
    for (const change of [{ description: 'x' }, { timeZone: 'Asia/Tokyo' }])
      expect(await failing(writer.changeCalendar(made.key, change))).toBe('unsupported')
    await writer.removeCalendar(made.key)
    expect(await failing(writer.removeCalendar(made.key))).toBe('not_found')
    expect(await calendars.listCalendars(new AbortController().signal)).toHaveLength(1)
  })
})
