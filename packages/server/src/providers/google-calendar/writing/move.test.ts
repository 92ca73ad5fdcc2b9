import { expect, test } from 'vitest'
import { CALENDAR_HOST, configureCalendar } from '../../../../test/google-calendar/other-client.ts'
import {
  berlin,
  fieldsOf,
  newCreation,
  occurrences,
  openWriter,
  recurring,
} from '../../../../test/google-calendar/open-writer.ts'
import { startSandbox } from '../../../../test/servers/sandbox.ts'
import { useServer } from '../../../../test/servers/shared-server.ts'

const sandbox = useServer(async () => {
  const server = await startSandbox()
  await configureCalendar(server, { quota: 'off' })
  return server
})

const ALL = { type: 'all', timesOf: null } as const
const at = (member: string) => ({ member, memberKey: null })
const DAILY = recurring('FREQ=DAILY;COUNT=5')
const moved = (...subjects: string[]) => subjects.map((subject, nth) => `120${nth + 2} 09:00 ${subject}`)

/** Five days from 1 December at 09:00, which move by a day. */
test.each([
  ['an exception', { '3': 'Once' }, [], moved('Review', 'Review', 'Once', 'Review', 'Review')],
  ['two exceptions', { '3': 'Once', '4': 'Twice' }, [], moved('Review', 'Review', 'Once', 'Twice', 'Review')],
  ['a deleted member', {}, [3], moved('Review', 'Review', '', 'Review', 'Review')],
  ['both', { '3': 'Once' }, [4], moved('Review', 'Review', 'Once', '', 'Review')],
])('a series moves by its own step with %s', async (_, exceptions, taken, expected) => {
  await using opened = await openWriter(sandbox())
  const { writer, options, world } = opened
  const place = await opened.create({ recurrence: DAILY })
  for (const [day, subject] of Object.entries(exceptions))
    await world.except(place.key, `2026120${day}T090000`, subject)
  for (const day of taken) await world.take(place.key, `2026120${day}T090000`)
  const change = { start: berlin('20261202T090000') }
  const written = await writer.changeEvent({ place, part: ALL, change }, options)
  expect(await occurrences(opened)).toEqual(expected.filter(text => !text.endsWith(' ')))
  expect(written.gone.map(({ key }) => key)).toEqual([])
  const back = await writer.changeEvent(
    { place, part: ALL, change: { start: berlin('20261201T090000') } },
    options,
  )
  expect(back.place).toEqual(place)
  const backwards = expected.map(text => text.replace(/^120(\d)/, (_all, day) => `120${Number(day) - 1}`))
  expect(await occurrences(opened)).toEqual(backwards.filter(text => !text.endsWith(' ')))
})

test('a series of working days moves by a day', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, world } = opened
  const place = await opened.create({
    start: berlin('20261207T090000'),
    end: berlin('20261207T091500'),
    recurrence: recurring('FREQ=WEEKLY;BYDAY=MO,TU,WE,TH;COUNT=5'),
  })
  await world.except(place.key, '20261209T090000', 'Once')
  const part = { type: 'all', timesOf: { ...at('20261208T090000'), seriesStart: null } } as const
  await writer.changeEvent({ place, part, change: { start: berlin('20261209T090000') } }, options)
  expect(await occurrences(opened)).toEqual([
    '1208 09:00 Review',
    '1209 09:00 Review',
    '1210 09:00 Once',
    '1211 09:00 Review',
    '1215 09:00 Review',
  ])
})

test.each(['PUT', 'DELETE', 'PATCH'] as const)(
  'a move that stops at any %s is ended by the next try, and nothing is doubled',
  async method => {
    for (const does of ['error', 'lost'] as const) {
      await using opened = await openWriter(sandbox())
      const { writer, options, world, client } = opened
      const place = await opened.create({ recurrence: DAILY })
      await world.except(place.key, '20261203T090000', 'Once')
      await world.except(place.key, '20261204T090000', 'Twice')
      await world.except(place.key, '20261201T090000', 'First')
      // After the move, the series has the named occurrence still.
      const timesOf = { ...at('20261203T090000'), seriesStart: berlin('20261201T090000') }
      const part = { type: 'all', timesOf } as const
      const ask = { place, part, change: { start: berlin('20261204T090000') } }
      const fault = { does, host: CALENDAR_HOST, method, count: 1 }
      await sandbox().addFault(fault)
      await writer.changeEvent(ask, options).catch(() => {})
      await sandbox().clearFaults()
      await writer.changeEvent(ask, options)
      expect(await occurrences(opened)).toEqual(moved('First', 'Review', 'Once', 'Twice', 'Review'))
      const { extendedProperties } = await client.get(place.key)
      expect(Object.keys(extendedProperties?.private ?? {})).toEqual([])
    }
  },
)

test('properties of other programs go along', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, world, client } = opened
  const place = await opened.create({ recurrence: recurring('FREQ=WEEKLY;COUNT=4') })
  await world.except(place.key, '20261208T090000', 'Once')
  await client.patch(place.key, { extendedProperties: { private: { theirs: '1' }, shared: { ours: '2' } } })
  await client.patch(`${place.key}_20261208T080000Z`, { extendedProperties: { private: { theirs: 'exc' } } })
  const change = { start: berlin('20261201T100000'), onlineMeetingUrl: 'https://meet.example.com/1' }
  await writer.changeEvent({ place, part: ALL, change }, options)
  expect((await client.get(`${place.key}_20261208T090000Z`)).extendedProperties?.private).toMatchObject({
    theirs: 'exc',
    'waxwing.meeting': change.onlineMeetingUrl,
  })
  const part = { type: 'following', ...at('20261215T100000'), ...newCreation() } as const
  const split = await writer.changeEvent({ place, part, change: { onlineMeetingUrl: null } }, options)
  expect((await client.get(split.place.key)).extendedProperties).toEqual({
    private: { theirs: '1' },
    shared: { ours: '2' },
  })
})

test('the occurrence that a change names takes all of it, though it is an exception', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options } = opened
  const place = await opened.create({ recurrence: recurring('FREQ=WEEKLY;COUNT=4') })
  const moveOnce = (member: string) =>
    writer.changeEvent(
      {
        place,
        part: { type: 'member', ...at(member) },
        change: { start: berlin(`${member.slice(0, 9)}140000`), subject: 'Once' },
      },
      options,
    )
  await moveOnce('20261208T090000')
  await moveOnce('20261215T090000')
  const part = { type: 'following', ...at('20261215T090000'), ...newCreation() } as const
  await writer.changeEvent(
    { place, part, change: { start: berlin('20261215T150000'), subject: 'New' } },
    options,
  )
  const whole = { type: 'all', timesOf: { ...at('20261208T090000'), seriesStart: null } } as const
  await writer.changeEvent(
    { place, part: whole, change: { start: berlin('20261208T110000'), subject: 'All' } },
    options,
  )
  expect(await occurrences(opened)).toEqual([
    '1201 11:00 All',
    '1208 11:00 All',
    '1215 15:00 New',
    '1222 15:00 New',
  ])
})

test('a series whose first occurrence is an exception becomes that', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, world } = opened
  const place = await opened.create({ recurrence: recurring('FREQ=WEEKLY;COUNT=4'), location: 'Room 5' })
  await world.except(place.key, '20261201T090000', 'Once')
  const single = await writer.changeEvent({ place, part: ALL, change: { recurrence: null } }, options)
  expect(fieldsOf(single)).toMatchObject({ subject: 'Once', location: 'Room 5' })
  expect(await occurrences(opened)).toEqual(['1201 09:00 Once'])
})
