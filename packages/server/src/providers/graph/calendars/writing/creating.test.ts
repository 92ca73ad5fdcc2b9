import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ADA,
  INPUT,
  at,
  creation,
  failing,
  membersOf,
  openWriting,
  series,
} from '../../../../../test/graph/calendar-writing.ts'
import { type GraphServer, startGraph } from '../../../../../test/graph/graph-server.ts'
import { newId } from '../../../../kit/ids.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

const open = (cloud: Parameters<typeof openWriting>[1] = 'global') => openWriting(server, cloud)

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
