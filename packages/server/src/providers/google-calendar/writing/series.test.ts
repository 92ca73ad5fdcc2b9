import { describe, expect, test } from 'vitest'
import { CALENDAR_HOST, configureCalendar } from '../../../../test/google-calendar/other-client.ts'
import {
  berlin,
  FIELDS,
  fieldsOf,
  newCreation,
  occurrences,
  openWriter,
  recurring,
} from '../../../../test/google-calendar/open-writer.ts'
import { startSandbox } from '../../../../test/servers/sandbox.ts'
import { useServer } from '../../../../test/servers/shared-server.ts'
import type { EventChange, ItemPlace } from '../../changing-calendars.ts'

const sandbox = useServer(async () => {
  const server = await startSandbox()
  await configureCalendar(server, { quota: 'off' })
  return server
})

const ALL = { type: 'all', timesOf: null } as const
const at = (member: string) => ({ member, memberKey: null })
/** Five Tuesdays from 1 December, of which the third was deleted and the fourth has a subject of its own. */
async function openSeries(fields: Partial<typeof FIELDS> = {}) {
  const opened = await openWriter(sandbox())
  const place = await opened.create({ recurrence: recurring('FREQ=WEEKLY;COUNT=5'), ...fields })
  await opened.world.take(place.key, '20261215T090000')
  await opened.world.except(place.key, '20261222T090000', 'Once')
  return { ...opened, place }
}

test('a series has the dates that were added and lacks those that were taken', async () => {
  await using opened = await openWriter(sandbox())
  const recurrence = {
    rule: 'FREQ=WEEKLY;COUNT=3',
    dates: [{ wall: '20261203T090000', end: null }],
    taken: ['20261208T090000'],
  }
  const place = await opened.create({ recurrence })
  expect(await occurrences(opened)).toEqual(['1201 09:00 Review', '1203 09:00 Review', '1215 09:00 Review'])
  const { writer, options } = opened
  const written = await writer.changeEvent({ place, part: ALL, change: { subject: 'Plan' } }, options)
  expect(written.items).toMatchObject([
    {
      object: {
        recurrence: ['RRULE:FREQ=WEEKLY;COUNT=3', expect.stringMatching(/^RDATE/)],
        excluded: recurrence.taken,
      },
    },
  ])
  const period = { ...recurrence, dates: [{ wall: '20261203T090000', end: '20261203T100000' }] }
  await expect(opened.create({ recurrence: period })).rejects.toMatchObject({ kind: 'unsupported' })
})

describe('a member', () => {
  test('becomes an exception, whichever way it is named, and is taken', async () => {
    await using opened = await openSeries()
    const { writer, options, place } = opened
    const change = (memberKey: string | null, fields: EventChange) =>
      writer.changeEvent(
        { place, part: { type: 'member', member: '20261208T090000', memberKey }, change: fields },
        options,
      )
    const first = await change(null, { start: berlin('20261209T140000') })
    expect(first.place).toEqual(place)
    expect(first.items).toMatchObject([
      { object: { type: 'member', seriesKey: place.key, member: '20261208T090000' } },
    ])
    const { key } = first.items[0]!.object
    expect(fieldsOf(await change(key, { subject: 'Moved' }))).toMatchObject({
      start: berlin('20261209T140000'),
      end: berlin('20261209T150000'),
    })
    const removal = { place, part: { type: 'member', member: '20261208T090000', memberKey: key } } as const
    expect(await writer.removeEvent(removal, options)).toMatchObject({
      items: [{ object: { type: 'member', key, member: '20261208T090000', event: null } }],
      gone: [],
    })
    await expect(writer.removeEvent(removal, options)).rejects.toMatchObject({ kind: 'not_found' })
    await expect(change(null, { subject: 'Gone' })).rejects.toMatchObject({ kind: 'not_found' })
    expect(await occurrences(opened)).toEqual(['1201 09:00 Review', '1222 09:00 Once', '1229 09:00 Review'])
  })
})

describe('a whole series', () => {
  test('keeps its exceptions, which follow where they had what it had', async () => {
    await using opened = await openSeries()
    const { writer, options, place, client } = opened
    const guest = { name: null, address: 'gil@example.com', type: 'required' } as const
    const change = { subject: 'Plan', location: 'Room 5', attendees: [guest], end: berlin('20261201T103000') }
    const written = await writer.changeEvent({ place, part: ALL, change }, options)
    expect(written.items.map(({ object }) => object.event)).toMatchObject([
      { subject: 'Plan', location: 'Room 5' },
      { subject: 'Once', location: 'Room 5', end: berlin('20261222T103000'), attendees: [guest] },
    ])
    expect(await occurrences(opened)).toEqual([
      '1201 09:00 Plan',
      '1208 09:00 Plan',
      '1222 09:00 Once',
      '1229 09:00 Plan',
    ])
    expect(await client.list()).toHaveLength(3)
  })

  test('moves with its exceptions and without its taken members', async () => {
    await using opened = await openSeries()
    const { writer, options, place } = opened
    const timesOf = { ...at('20261208T090000'), seriesStart: null }
    const change = { start: berlin('20261209T100000') }
    const written = await writer.changeEvent({ place, part: { type: 'all', timesOf }, change }, options)
    expect(await occurrences(opened)).toEqual([
      '1202 10:00 Review',
      '1209 10:00 Review',
      '1223 10:00 Once',
      '1230 10:00 Review',
    ])
    expect(written.items).toMatchObject([
      { object: { type: 'item', excluded: ['20261216T100000'] } },
      { object: { type: 'member', member: '20261223T100000', event: { subject: 'Once' } } },
    ])
    expect(written.gone).toEqual([{ calendarKey: opened.email, key: `${place.key}_20261222T080000Z` }])
  })

  test('gets another rule, without the exceptions that it does not give', async () => {
    await using opened = await openSeries()
    const { writer, options, place } = opened
    const recurrence = recurring('FREQ=WEEKLY;INTERVAL=2;COUNT=4', ['20261229T090000'])
    await writer.changeEvent({ place, part: ALL, change: { recurrence } }, options)
    expect(await occurrences(opened)).toEqual(['1201 09:00 Review', '0112 09:00 Review'])
  })

  test('becomes its first occurrence, and a series again', async () => {
    await using opened = await openSeries()
    const { writer, options, place } = opened
    const single = await writer.changeEvent({ place, part: ALL, change: { recurrence: null } }, options)
    expect(single.items).toMatchObject([{ object: { type: 'item', recurrence: null } }])
    expect(single.gone).toHaveLength(1)
    expect(await occurrences(opened)).toEqual(['1201 09:00 Review'])
    const change = { recurrence: recurring('FREQ=DAILY;COUNT=2') }
    await writer.changeEvent({ place, part: ALL, change }, options)
    expect(await occurrences(opened)).toEqual(['1201 09:00 Review', '1202 09:00 Review'])
  })

  test('is deleted, and moves to another calendar with its exceptions', async () => {
    await using opened = await openSeries()
    const { writer, options, place, client } = opened
    const before = await occurrences(opened)
    const { id: toCalendarKey } = await client.addCalendar({ summary: 'Other' })
    const moved = await writer.moveEvent({ place, toCalendarKey, ...newCreation() }, options)
    expect(moved.items.map(({ object }) => object.type)).toEqual(['item', 'member', 'member'])
    expect(await occurrences(opened, toCalendarKey)).toEqual(before)
    expect(await occurrences(opened)).toEqual([])
    await writer.removeEvent({ place: moved.place, part: { type: 'all' } }, options)
    expect(await occurrences(opened, toCalendarKey)).toEqual([])
  })

  test('is answered with those of its exceptions that had its answer', async () => {
    await using guest = await openWriter(sandbox())
    await using host = await openSeries({
      attendees: [{ name: null, address: guest.email, type: 'required' }],
    })
    const { key } = host.place
    const place = { calendarKey: guest.email, key }
    const answer = { place, part: { type: 'all' }, response: 'accepted', comment: null } as const
    const written = await guest.writer.respond(answer, guest.options)
    expect(written.items.map(({ object }) => object.event?.self?.response)).toEqual(['accepted', 'accepted'])
    const one = {
      ...answer,
      part: { type: 'member', ...at('20261229T090000') },
      response: 'declined',
    } as const
    expect(fieldsOf(await guest.writer.respond(one, guest.options)).self?.response).toBe('declined')
  })
})

describe('a member and those after it', () => {
  const SPLIT = ['1201 09:00 Review', '1208 14:00 Later', '1222 14:00 Once', '1229 14:00 Later']
  const asked = (place: ItemPlace, member: string, change: EventChange) => ({
    place,
    part: { type: 'following' as const, ...at(member), ...newCreation() },
    change,
  })

  test('become a series of their own, with exceptions and fields that nobody named', async () => {
    await using opened = await openSeries({
      attendees: [{ name: null, address: 'gil@example.com', type: 'required' }],
    })
    const { writer, options, place, client } = opened
    await client.patch(place.key, { colorId: '7', extendedProperties: { private: { theirs: '1' } } })
    const onlineMeetingUrl = 'https://meet.example.com/x'
    const change = { subject: 'Later', start: berlin('20261208T140000'), onlineMeetingUrl }
    const split = asked(place, '20261208T090000', change)
    const written = await writer.changeEvent(split, options)
    const key = split.part.creationId.replaceAll('-', '')
    expect(written.place).toEqual({ ...place, key })
    expect(written.gone).toEqual([{ ...place, key: `${place.key}_20261222T080000Z` }])
    expect(await occurrences(opened)).toEqual(SPLIT)
    expect(await client.get(key)).toMatchObject({
      recurrence: ['RRULE:FREQ=WEEKLY;COUNT=4', 'EXDATE;TZID=Europe/Berlin:20261215T140000'],
      colorId: '7',
      extendedProperties: { private: { theirs: '1', 'waxwing.meeting': onlineMeetingUrl } },
      attendees: [{ email: 'gil@example.com' }],
    })
    expect((await client.get(place.key)).recurrence).toEqual(['RRULE:FREQ=WEEKLY;UNTIL=20261201T080000Z'])
    // Another try changes nothing.
    await writer.changeEvent({ ...split, part: { ...split.part, mayExist: true } }, options)
    expect(await occurrences(opened)).toEqual(SPLIT)
  })

  test('are split once, wherever an earlier try stopped', async () => {
    await using opened = await openSeries()
    const { writer, options, place } = opened
    const change = { subject: 'Later', start: berlin('20261208T140000') }
    const split = asked(place, '20261208T090000', change)
    const again = { ...split, part: { ...split.part, mayExist: true } }
    for (const [does, method] of [
      ['lost', 'POST'],
      ['error', 'PATCH'],
      ['lost', 'PATCH'],
      ['error', 'DELETE'],
      ['lost', 'DELETE'],
    ] as const) {
      await sandbox().addFault({ does, host: CALENDAR_HOST, method, count: 1 })
      await writer.changeEvent(does === 'lost' && method === 'POST' ? split : again, options).catch(() => {})
      await sandbox().clearFaults()
    }
    await writer.changeEvent(again, options)
    expect(await occurrences(opened)).toEqual(SPLIT)
  })

  test('become a single', async () => {
    await using opened = await openSeries()
    const { writer, options, place } = opened
    const split = asked(place, '20261222T090000', { recurrence: null, subject: 'Last' })
    await writer.changeEvent(split, options)
    expect(await occurrences(opened)).toEqual(['1201 09:00 Review', '1208 09:00 Review', '1222 09:00 Last'])
  })

  test('are taken with their exceptions', async () => {
    await using opened = await openSeries()
    const { writer, options, place } = opened
    const removal = { place, part: { type: 'following', ...at('20261208T090000') } } as const
    const written = await writer.removeEvent(removal, options)
    expect(written).toMatchObject({ items: [{ object: { key: place.key } }], place })
    expect(written.gone).toEqual([{ ...place, key: `${place.key}_20261222T080000Z` }])
    expect(await occurrences(opened)).toEqual(['1201 09:00 Review'])
  })

  test('are not there if the series does not give the member', async () => {
    await using opened = await openSeries()
    const { writer, options, place } = opened
    await expect(
      writer.changeEvent(asked(place, '20261209T090000', { subject: 'No' }), options),
    ).rejects.toMatchObject({ kind: 'not_found' })
  })
})

test('whole days recur, move and split', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options } = opened
  const day = (wall: string) => ({ wall, zone: null })
  const place = await opened.create({
    start: day('20261201'),
    end: day('20261203'),
    recurrence: recurring('FREQ=MONTHLY;COUNT=4'),
  })
  const change = { start: day('20270102') }
  await writer.changeEvent(
    { place, part: { type: 'all', timesOf: { ...at('20270101'), seriesStart: null } }, change },
    options,
  )
  expect(await occurrences(opened)).toEqual(['1202 Review', '0102 Review', '0202 Review', '0302 Review'])
  const part = { type: 'following' as const, ...at('20270202'), ...newCreation() }
  const written = await writer.changeEvent({ place, part, change: { subject: 'Late' } }, options)
  expect(fieldsOf(written)).toMatchObject({ start: day('20270202'), end: day('20270204') })
  expect(await occurrences(opened)).toEqual(['1202 Review', '0102 Review', '0202 Late', '0302 Late'])
})
