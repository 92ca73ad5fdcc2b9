import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { RemoteEvent } from '../calendars.ts'
import type { EventChange } from '../changing-calendars.ts'
import { never } from './arrangement.ts'
import {
  ALL,
  berlin,
  type ChangingCalendarsArrangement,
  day,
  FULL,
  member,
  openChanging,
  PLAIN_EVENT,
  read,
  SECOND,
  SERIES,
} from './changing-calendars-account.ts'
import { describeChangingSeries } from './changing-series.ts'

/** Contract of every `CalendarsWriter`. `setUp` makes a new account for each test. */
export function describeChangingCalendars(
  name: string,
  setUp: () => Promise<ChangingCalendarsArrangement>,
): void {
  describe(`${name}: changing events`, () => {
    test('creates an event with its fields, once for all tries', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const { writer, index, options, calendarKey } = opened
      const fields = { ...PLAIN_EVENT, ...FULL }
      const creation = { creationId: randomUUID(), mayExist: false }

      expect(await writer.findCreated({ calendarKey, ...creation }, never)).toBeNull()
      const written = await writer.createEvent({ calendarKey, fields, ...creation }, options)
      const again = await writer.createEvent({ calendarKey, fields, ...creation, mayExist: true }, options)

      expect(again.place).toEqual(written.place)
      expect(await writer.findCreated({ calendarKey, ...creation }, never)).toBe(written.place.key)
      const event = await opened.eventAt(written.place.key)
      expect(event).toMatchObject({
        ...read(arranged, FULL),
        start: PLAIN_EVENT.start,
        end: PLAIN_EVENT.end,
        subject: PLAIN_EVENT.subject,
        showAs: 'busy',
        sensitivity: 'normal',
        status: 'confirmed',
      })
      expect(index.objects.size).toBe(1)
      expect(written.items.map(({ object }) => object)).toEqual([...index.objects.values()])
    })

    test('creates events of whole days and of other zones', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const days = await opened.create({ start: day('20261224'), end: day('20261227') })
      const york = { start: { wall: '20261101T013000', zone: 'America/New_York' } }
      const night = await opened.create({
        ...york,
        end: { wall: '20261101T033000', zone: 'America/New_York' },
      })
      expect(await opened.eventAt(days.key)).toMatchObject({ start: day('20261224'), end: day('20261227') })
      expect(await opened.eventAt(night.key)).toMatchObject(york)
    })

    test('changes each field by itself, and clears it', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const { holds } = arranged
      const place = await opened.create({})
      let expected: Partial<RemoteEvent> = {
        subject: PLAIN_EVENT.subject,
        start: PLAIN_EVENT.start,
        end: PLAIN_EVENT.end,
      }
      const changes: EventChange[] = [
        { subject: 'Renamed' },
        { location: 'Room 6' },
        { body: FULL.body! },
        { reminderMinutes: 30 },
        { reminderMinutes: 10 },
        { start: berlin('20261202T140000'), end: berlin('20261202T150000') },
        ...holds.showAs.map(showAs => ({ showAs })),
        ...holds.sensitivity.map(sensitivity => ({ sensitivity })),
        ...(holds.html
          ? [{ body: { contentType: 'html', content: '<p>Some <b>bold</b> text</p>' } as const }]
          : []),
        { location: null },
        { body: null },
        { reminderMinutes: null },
        { subject: null },
      ]
      for (const change of changes) {
        expected = { ...expected, ...(read(arranged, change) as Partial<RemoteEvent>) }
        const { items } = await opened.change(place, ALL, change)
        expect(items.map(({ object }) => object.event)).toMatchObject([expected])
      }
      expect(await opened.eventAt(place.key)).toMatchObject(expected)
    })

    test('keeps the length of an event with a new start', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const place = await opened.create({})
      await opened.change(place, ALL, { start: berlin('20261203T230000') })
      expect(await opened.eventAt(place.key)).toMatchObject({ end: berlin('20261204T003000') })
      await opened.change(place, ALL, { end: berlin('20261204T010000') })
      expect(await opened.eventAt(place.key)).toMatchObject({
        start: berlin('20261203T230000'),
        end: berlin('20261204T010000'),
      })
    })

    test('keeps what another client changes', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const place = await opened.create({})
      await arranged.world.rename(place.key, 'Renamed elsewhere')
      await opened.change(place, ALL, { location: 'Room 6' })
      expect(await opened.eventAt(place.key)).toMatchObject({
        subject: 'Renamed elsewhere',
        location: 'Room 6',
      })
    })

    test('invites, and replaces the list by address', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      if (!arranged.holds.silence) return
      const [ada, grace, room] = [
        { name: 'Ada "Countess", Lovelace', address: 'ada@example.com', type: 'required' },
        { name: null, address: 'grace@example.com', type: 'optional' },
        { name: 'Room', address: 'room@example.com', type: 'required' },
      ] as const
      const place = await opened.create({ attendees: [ada, grace] })
      expect(await opened.eventAt(place.key)).toMatchObject({ organizer: { address: arranged.self.address } })
      await opened.change(place, ALL, { attendees: [grace, room] })
      const others = ({ attendees }: RemoteEvent) =>
        attendees.filter(({ address }) => address !== arranged.self.address)
      expect(others(await opened.eventAt(place.key))).toMatchObject([grace, room])
      await opened.change(place, ALL, { attendees: [] })
      expect(others(await opened.eventAt(place.key))).toEqual([])
    })

    test('finds out whether an event can be changed, and leaves it as it is', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const { writer, calendarKey, options } = opened
      const other = await writer.createCalendar({ ...CALENDAR, creationId: randomUUID(), mayExist: false })
      const place = await opened.create({})
      const before = await opened.eventAt(place.key)
      const find = (change: EventChange, key = place.key) => {
        const asked = { place: { calendarKey, key }, part: ALL, change, toCalendarKey: other.key }
        return writer.requireChangeable(asked, options)
      }
      await find({ subject: 'Renamed', start: berlin('20261203T090000') })
      const isHeld = arranged.holds.sensitivity.includes('personal')
      const refused = find({ subject: 'Renamed', sensitivity: 'personal' })
      await (isHeld ? refused : expect(refused).rejects.toMatchObject(UNHELD))
      expect(await opened.eventAt(place.key)).toEqual(before)
      await opened.remove(place, { type: 'all' })
      await expect(find({ subject: 'Renamed' })).rejects.toMatchObject({ kind: 'not_found' })
    })

    test('deletes events, and reports one that is gone', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const [single, series] = [await opened.create({}), await opened.create(SERIES)]
      expect(await opened.remove(single, { type: 'all' })).toMatchObject({ items: [], gone: [single] })
      await opened.remove(series, { type: 'all' })
      await expect(opened.remove(single, { type: 'all' })).rejects.toMatchObject({ kind: 'not_found' })
      await expect(opened.change(single, ALL, { subject: 'Gone' })).rejects.toMatchObject({
        kind: 'not_found',
      })
      await expect(opened.eventAt(series.key)).rejects.toThrow('has no')
    })

    test('refuses an answer to an event that does not invite the account', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const place = await opened.create({})
      const asked = { place, part: { type: 'all' }, response: 'accepted', comment: null } as const
      await expect(opened.writer.respond(asked, opened.options)).rejects.toMatchObject({ kind: 'rejected' })
    })

    test('moves events to another calendar, once for all tries', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const { writer, options } = opened
      const other = await writer.createCalendar({ ...CALENDAR, creationId: randomUUID(), mayExist: false })
      const place = await opened.create(SERIES)
      await opened.change(place, member(SECOND), { subject: 'Once' })
      const asked = { place, toCalendarKey: other.key, creationId: randomUUID() }
      const moved = await writer.moveEvent({ ...asked, mayExist: false }, options)
      const again = await writer.moveEvent({ ...asked, mayExist: true }, options)

      expect(again.place).toEqual(moved.place)
      expect(moved).toMatchObject({ place: { calendarKey: other.key }, gone: [place] })
      await expect(opened.eventAt(place.key)).rejects.toThrow('has no')
      expect(moved.items.filter(({ object }) => object.type === 'item')).toMatchObject([
        { calendarKey: other.key, object: { event: { subject: 'Weekly' } } },
      ])
    })
  })

  describeChangingSeries(name, setUp)

  describe(`${name}: changing calendars`, () => {
    test('creates a calendar once for all tries, changes and deletes it', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const { writer } = opened
      const { holds } = arranged
      const creation = { creationId: randomUUID(), mayExist: false }
      const made = await writer.createCalendar({ ...CALENDAR, ...creation })
      expect(made).toMatchObject({ name: CALENDAR.name, access: 'owner' })
      const again = await writer.createCalendar({ ...CALENDAR, ...creation, mayExist: true })
      expect(again.key).toBe(made.key)
      const change = {
        name: 'Renamed',
        ...(holds.description && { description: 'All of us,\n"<& others>"' }),
        ...(holds.color && { color: '#ff8800' }),
      }
      expect(await writer.changeCalendar(made.key, change)).toMatchObject(change)
      await writer.removeCalendar(made.key)
      await expect(writer.changeCalendar(made.key, { name: 'Gone' })).rejects.toMatchObject({
        kind: 'not_found',
      })
    })
  })
}

const UNHELD = { kind: 'unsupported', isBeforeAcceptance: true }
const CALENDAR = { name: 'Made & written', description: null, color: null, timeZone: null }
