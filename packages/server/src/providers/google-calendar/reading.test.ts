import { describe, expect, test } from 'vitest'
import { at, BERLIN, read, SERIES, SINGLE } from '../../../test/google-calendar/read-answers.ts'
import { ProviderFailure } from '../failure.ts'

describe('series and their members', () => {
  test('takes the dates from the recurrence of a series', async () => {
    const rule = 'RRULE:FREQ=WEEKLY;BYDAY=TU'
    const { objects } = await read([
      {
        ...SERIES,
        recurrence: [
          rule,
          'EXDATE;TZID=America/New_York:20261208T030000',
          'EXDATE;VALUE=DATE:20261215',
          'RDATE:20261210T080000Z',
          'X-OTHER:1',
        ],
      },
    ])
    expect(objects).toMatchObject([
      {
        type: 'item',
        key: 'series',
        version: SINGLE.etag,
        recurrence: [rule, 'RDATE:20261210T080000Z'],
        members: null,
        excluded: ['20261208T090000', '20261215'],
      },
    ])
  })

  test('names members by the wall clock of the series, also those that were moved', async () => {
    const member = (id: string, originalStartTime: object, more: object = {}) => ({
      ...SINGLE,
      id,
      recurringEventId: 'series',
      originalStartTime,
      ...more,
    })
    const { objects, asked } = await read([
      member('moved', at('2026-12-02T09:00:00+01:00', BERLIN), {
        start: at('2026-12-05T22:00:00+01:00', 'UTC'),
      }),
      member('day', { date: '2026-12-03' }, { start: { date: '2026-12-04' }, end: { date: '2026-12-05' } }),
      {
        id: 'taken',
        status: 'cancelled',
        recurringEventId: 'series',
        originalStartTime: at('2026-12-04T03:00:00-05:00', 'America/New_York'),
      },
    ])
    expect(objects).toMatchObject([
      {
        type: 'member',
        key: 'moved',
        seriesKey: 'series',
        member: '20261202T090000',
        event: { start: { wall: '20261205T210000', zone: 'UTC' } },
      },
      { type: 'member', key: 'day', member: '20261203', event: { start: { wall: '20261204' } } },
      { type: 'member', key: 'taken', version: 'cancelled', member: '20261204T030000', event: null },
    ])
    expect(asked).toEqual([])
  })

  test.each([
    ['in the same answer', [{ ...SERIES, start: at('2026-12-01T02:30:00+01:00', BERLIN) }], {}, []],
    ['that is asked for', [], { series: { start: at('2026-12-01T02:30:00+01:00', BERLIN) } }, ['series']],
  ])('names a member in a gap of the clock as its series %s does', async (_, listed, series, expected) => {
    const original = at('2027-03-28T03:30:00+02:00', BERLIN)
    const members = ['one', 'two'].map(id => ({
      ...SINGLE,
      id,
      recurringEventId: 'series',
      originalStartTime: original,
    }))
    const { objects, asked } = await read([...members, ...listed], {}, series)
    const names = objects.flatMap(object => (object.type === 'member' ? object.member : []))
    expect(names).toEqual(['20270328T023000', '20270328T023000'])
    expect(asked).toEqual(expected)
  })

  test('asks the series for the zone of a member without one, and takes that of the answer if it is gone', async () => {
    const taken = (recurringEventId: string) => ({
      id: `${recurringEventId}_1`,
      status: 'cancelled',
      recurringEventId,
      originalStartTime: at('2026-12-04T15:00:00+01:00'),
    })
    const series = { far: { start: at('2026-12-01T15:00:00+01:00', 'America/New_York') } }
    const { objects, asked } = await read([taken('far'), taken('gone')], {}, series)
    expect(objects).toMatchObject([{ member: '20261204T090000' }, { member: '20261204T150000' }])
    expect(asked).toEqual(['far', 'gone'])
  })

  test('reports deleted events as gone, and not the members that went with their series', async () => {
    const read_ = await read([
      {
        id: 'series_1',
        status: 'cancelled',
        recurringEventId: 'series',
        originalStartTime: { date: '2026-12-04' },
      },
      { id: 'series', status: 'cancelled' },
      { id: 'single', status: 'cancelled', etag: '"1"' },
    ])
    expect(read_).toMatchObject({ objects: [], unreadable: [], gone: ['series', 'single'] })
  })
})

describe('events that cannot be read', () => {
  test.each([
    ['without a start', { start: undefined }, 'The field start of the event has another form'],
    ['with a start that is none', { start: at('soon') }, 'The event has no start that can be read'],
    [
      'on a day that does not exist',
      { start: { date: '2026-02-30' } },
      'The event has no start that can be read',
    ],
    [
      'with a time in place of a day',
      { start: { date: '2026-02-03T10:00:00Z' } },
      'The event has no start that can be read',
    ],
    [
      'with a recurrence of another form',
      { recurrence: [7] },
      'The field recurrence.0 of the event has another form',
    ],
    [
      'with more dates than are read',
      {
        recurrence: [
          'RRULE:FREQ=DAILY',
          `EXDATE:${Array.from({ length: 10_001 }, () => '20261201T080000Z').join()}`,
        ],
      },
      'The series lacks more than 10000 members',
    ],
    [
      'that does not name its place in its series',
      { recurringEventId: 'series' },
      'The event does not name its place in its series',
    ],
  ])('reports an event %s, and reads the others', async (_, event, reason) => {
    const { objects, unreadable } = await read([{ ...SINGLE, ...event, id: 'odd' }, SINGLE])
    expect(unreadable).toEqual([{ key: 'odd', version: SINGLE.etag, reason }])
    expect(objects.map(({ key }) => key)).toEqual([SINGLE.id])
  })

  test('refuses an answer with an event that has no id', async () => {
    await expect(read([SINGLE, { status: 'confirmed' }])).rejects.toThrow(ProviderFailure)
  })
})
