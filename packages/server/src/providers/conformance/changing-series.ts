import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  ALL,
  berlin,
  type ChangingCalendarsArrangement,
  FIFTH,
  FIRST,
  following,
  FOURTH,
  member,
  openChanging,
  SECOND,
  SERIES,
  SIXTH,
  THIRD,
  weekly,
} from './changing-calendars-account.ts'

/** Contract of every `CalendarsWriter`, for series. `setUp` makes a new account for each test. */
export function describeChangingSeries(
  name: string,
  setUp: () => Promise<ChangingCalendarsArrangement>,
): void {
  describe(`${name}: changing series`, () => {
    test('creates a series, and takes members from it', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const place = await opened.create({ ...SERIES, recurrence: weekly(undefined, [SECOND]) })
      expect(await opened.startsOf(place.key)).toEqual([FIRST, THIRD, FOURTH, FIFTH, SIXTH])
      await opened.remove(place, member(FOURTH))
      expect(await opened.startsOf(place.key)).toEqual([FIRST, THIRD, FIFTH, SIXTH])
      await expect(opened.remove(place, member(FOURTH))).rejects.toMatchObject({ kind: 'not_found' })
    })

    test('changes one member, again and again, until it is taken', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const place = await opened.create(SERIES)
      await opened.change(place, member(THIRD), { subject: 'Once' })
      const start = berlin('20270330T110000')
      await opened.change(place, member(THIRD), { start })
      expect(await opened.startsOf(place.key)).toEqual([
        FIRST,
        SECOND,
        '20270330T110000 Once',
        FOURTH,
        FIFTH,
        SIXTH,
      ])
      expect(await opened.eventAt(place.key)).toMatchObject({ subject: 'Weekly' })
      await opened.remove(place, member(THIRD))
      expect(await opened.startsOf(place.key)).toEqual([FIRST, SECOND, FOURTH, FIFTH, SIXTH])
      await expect(opened.change(place, member(THIRD), { subject: 'Gone' })).rejects.toMatchObject({
        kind: 'not_found',
      })
    })

    test('changes a whole series, and the exceptions that had its values', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const place = await opened.create(SERIES)
      await opened.change(place, member(SECOND), { subject: 'Once' })
      await opened.change(place, member(THIRD), { location: 'Elsewhere' })
      await opened.change(place, ALL, { subject: 'Renamed', location: 'Room 7' })
      expect(await opened.startsOf(place.key)).toEqual([
        FIRST,
        `${SECOND} Once`,
        `${THIRD} Renamed`,
        FOURTH,
        FIFTH,
        SIXTH,
      ])
      expect(await opened.eventAt(place.key)).toMatchObject({ subject: 'Renamed', location: 'Room 7' })
    })

    test('moves a series by the times of one member, with its exceptions and taken members', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const place = await opened.create({ ...SERIES, recurrence: weekly(undefined, [SECOND]) })
      await opened.change(place, member(THIRD), { subject: 'Once' })
      const timesOf = { member: FOURTH, memberKey: null, seriesStart: null }
      const move = () => opened.change(place, { type: 'all', timesOf }, { start: berlin('20270406T100000') })
      await move()
      await expect(move()).rejects.toMatchObject({ kind: 'not_found' })
      // A try that names where the series was goes on instead.
      const again = { ...timesOf, seriesStart: berlin(FIRST) }
      await opened.change(place, { type: 'all', timesOf: again }, { start: berlin('20270406T100000') })
      const later = [FIRST, THIRD, FOURTH, FIFTH, SIXTH].map(wall =>
        wall.replace(
          /(\d\d)T09/,
          (_, dayOfMonth: string) => `${String(Number(dayOfMonth) + 1).padStart(2, '0')}T10`,
        ),
      )
      expect(await opened.startsOf(place.key)).toEqual(
        later.map((wall, at) => (at === 1 ? `${wall} Once` : wall)),
      )
    })

    test('replaces the rule of a series, and makes it one event and again a series', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const place = await opened.create({ ...SERIES, recurrence: weekly(undefined, [THIRD]) })
      await opened.change(place, member(SECOND), { subject: 'Once' })
      await opened.change(place, ALL, { recurrence: weekly('FREQ=WEEKLY;INTERVAL=2;COUNT=3') })
      expect(await opened.startsOf(place.key)).toEqual([FIRST, FIFTH])
      await opened.change(place, ALL, { recurrence: null })
      await opened.eventAt(place.key)
      expect(opened.index.items()).toMatchObject([{ recurrence: null }])
      await opened.change(place, ALL, { recurrence: weekly('FREQ=DAILY;COUNT=2') })
      expect(await opened.startsOf(place.key)).toEqual([FIRST, '20270316T090000'])
    })

    test('splits a series at a member, once for all tries', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const place = await opened.create({ ...SERIES, recurrence: weekly(undefined, [FIFTH]) })
      await opened.change(place, member(SECOND), { subject: 'Early' })
      await opened.change(place, member(SIXTH), { subject: 'Late' })
      const id = randomUUID()
      const change = { subject: 'Second part', start: berlin('20270329T100000') }
      const first = await opened.change(place, following(THIRD, id), change)
      const again = await opened.change(place, following(THIRD, id, true), change)

      expect(again.place).toEqual(first.place)
      expect(first.place.key).not.toBe(place.key)
      expect(await opened.startsOf(place.key)).toEqual([FIRST, `${SECOND} Early`])
      expect(await opened.startsOf(first.place.key)).toEqual([
        '20270329T100000',
        '20270405T100000',
        '20270419T100000 Late',
      ])
      expect(await opened.eventAt(first.place.key)).toMatchObject({ subject: 'Second part' })
      expect(opened.index.items()).toHaveLength(2)
    })

    test('ends a series before a member', async () => {
      await using arranged = await setUp()
      await using opened = await openChanging(arranged)
      const place = await opened.create(SERIES)
      await opened.change(place, member(SIXTH), { subject: 'Late' })
      await opened.remove(place, { type: 'following', member: THIRD, memberKey: null })
      expect(await opened.startsOf(place.key)).toEqual([FIRST, SECOND])
    })
  })
}
