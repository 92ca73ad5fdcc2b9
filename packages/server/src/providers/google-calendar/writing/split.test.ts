import { expect, test } from 'vitest'
import { CALENDAR_HOST, configureCalendar } from '../../../../test/google-calendar/other-client.ts'
import {
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

const from = (member: string) => ({ type: 'following' as const, member, memberKey: null })
const asked = (place: ItemPlace, member: string, change: EventChange) => ({
  place,
  part: { ...from(member), ...newCreation() },
  change,
})
const again = <T extends ReturnType<typeof asked>>(split: T) => ({
  ...split,
  part: { ...split.part, mayExist: true },
})
/** Weekly from Tuesday, 1 December, at 09:00 in Berlin. */
const weekly = (count: number) => ({ recurrence: recurring(`FREQ=WEEKLY;COUNT=${count}`) })
const every2 = { recurrence: ['RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4'] }

test('a series that gives the member no more is not ended, and keeps its exceptions', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, client } = opened
  const place = await opened.create(weekly(4))
  await opened.world.except(place.key, '20261215T090000', 'Once')
  await client.patch(place.key, every2)
  const before = await occurrences(opened)
  const removal = { place, part: from('20261208T090000') }
  await expect(writer.removeEvent(removal, options)).rejects.toMatchObject({ kind: 'not_found' })
  expect(await occurrences(opened)).toEqual(before)
})

test('a series that another client moves between two tries is ended, and no member is doubled', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, client } = opened
  const place = await opened.create(weekly(4))
  const split = asked(place, '20261215T090000', { subject: 'Later' })
  await sandbox().addFault({ does: 'error', host: CALENDAR_HOST, method: 'PATCH', count: 1 })
  await expect(writer.changeEvent(split, options)).rejects.toMatchObject({ isBeforeAcceptance: false })
  const at = (hour: number) => ({ dateTime: `2026-12-01T${hour}:00:00`, timeZone: 'Europe/Berlin' })
  await client.patch(place.key, { start: at(10), end: at(11) })
  await writer.changeEvent(again(split), options)
  expect(await occurrences(opened)).toEqual([
    '1201 10:00 Review',
    '1208 10:00 Review',
    '1215 09:00 Later',
    '1222 09:00 Later',
  ])
})

test('a series that another client moves behind the member stays alone', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, client } = opened
  const place = await opened.create(weekly(4))
  const split = asked(place, '20261208T090000', { subject: 'Later' })
  await sandbox().addFault({ does: 'error', host: CALENDAR_HOST, method: 'PATCH', count: 1 })
  await expect(writer.changeEvent(split, options)).rejects.toMatchObject({ isBeforeAcceptance: false })
  const at = (hour: number) => ({ dateTime: `2026-12-09T${hour}:00:00`, timeZone: 'Europe/Berlin' })
  await client.patch(place.key, { start: at(10), end: at(11), recurrence: ['RRULE:FREQ=DAILY;COUNT=2'] })
  await expect(writer.changeEvent(again(split), options)).rejects.toMatchObject({ kind: 'conflict' })
  expect(await occurrences(opened)).toEqual(['1209 10:00 Review', '1210 10:00 Review'])
})

test('a series is split and ended by its organizer alone', async () => {
  await using opened = await openWriter(sandbox())
  await using guest = await openWriter(sandbox())
  const { key } = await opened.create({
    ...weekly(3),
    attendees: [{ name: null, address: guest.email, type: 'required' }],
  })
  const place = { calendarKey: guest.email, key }
  const before = await occurrences(guest)
  const forbidden = { kind: 'forbidden', isBeforeAcceptance: true }
  const split = asked(place, '20261208T090000', { showAs: 'free' })
  await expect(guest.writer.changeEvent(split, guest.options)).rejects.toMatchObject(forbidden)
  const removal = { place, part: from('20261208T090000') }
  await expect(guest.writer.removeEvent(removal, guest.options)).rejects.toMatchObject(forbidden)
  expect(await occurrences(guest)).toEqual(before)
})
