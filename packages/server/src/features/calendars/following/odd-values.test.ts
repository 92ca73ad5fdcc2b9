import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { PLAIN_EVENT } from '../../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import type { CalendarsProvider, FollowCalendar, RemoteEvent } from '../../../providers/calendars.ts'
import { countQuarantined } from './quarantine.ts'

const at = (wall: string, zone: string | null): Pick<RemoteEvent, 'start' | 'end'> => ({
  start: { wall, zone },
  end: { wall, zone },
})
const YEARLY = { recurrence: ['RRULE:FREQ=YEARLY'] }
const [, DAY] = /^(\d{8})/.exec(PLAIN_EVENT.start.wall) ?? []

test('an event with values that PostgreSQL refuses is quarantined or bounded, and others are read', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  const { memory } = account
  const [calendar = ''] = memory.calendars.keys()
  memory.updateCalendar(calendar, { color: '#00ff00\0', timeZone: 'America/Los_Angeles' })
  // These are quarantined.
  memory.add(calendar, {}, { recurrence: ['RRULE:FREQ=DAILY;COUNT=3;X=\0'] })
  memory.add(calendar, {}, { recurrence: ['RRULE:FREQ=DAILY;COUNT=3;X=\ud83d'] })
  memory.add(calendar, at('00000301T000000', 'UTC'), YEARLY)
  memory.add(calendar, at('00000301', null), YEARLY)
  memory.add(calendar, at('00010101', 'Asia/Tokyo'), YEARLY)
  // A part of these is bounded or left out.
  const { start } = PLAIN_EVENT
  memory.add(calendar, { ...at('99991231T235900', 'America/Los_Angeles'), subject: 'last' })
  memory.add(calendar, { ...at('99991231T235900', null), subject: 'floating' })
  memory.add(calendar, { ...at('00010103T000000', 'Asia/Tokyo'), subject: 'first' }, YEARLY)
  memory.add(
    calendar,
    { start, end: { wall: '99991231T235900', zone: 'America/Los_Angeles' }, subject: 'endless' },
    { recurrence: ['RRULE:FREQ=DAILY;COUNT=2'] },
  )
  memory.add(calendar, { updatedAt: new Date('0000-03-01T00:00:00Z'), subject: 'changed early' })
  memory.add(calendar, { updatedAt: new Date(Number.NaN), subject: 'changed never' })
  memory.add(calendar, { subject: 'version' }).version = 'v\0'
  const series = memory.add(calendar, { subject: 'members' }, { recurrence: ['RRULE:FREQ=DAILY;COUNT=3'] })
  memory.setMember(series.key, '00000301T090000', { ...PLAIN_EVENT, subject: 'lost exception' })
  memory.setMember(series.key, '00000302T090000', null)
  memory.setMember(series.key, `${DAY}T090000`, null)

  await account.pass()

  const { rows } = await sql<{ subject: string; spans: number }>`
    select shown ->> 'subject' as subject, (select count(*)::int from calendar_span where root_id = calendar_event.id) as spans
    from calendar_event order by (shown ->> 'subject') collate "C"
  `.execute(door.db)
  expect(rows.map(({ subject, spans }) => `${subject} ${spans}`)).toEqual([
    'changed early 1',
    'changed never 1',
    'endless 2',
    'first 1',
    'floating 1',
    'last 1',
    'members 2',
    'version 1',
  ])
  expect(await countQuarantined(door.db, account.id)).toBe(5)
})

test('an event that PostgreSQL refuses nevertheless is quarantined, and the other events of its step are read', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  const { memory } = account
  const [calendar = ''] = memory.calendars.keys()
  memory.add(calendar, { subject: 'Ada' })
  const odd = memory.add(calendar, { subject: 'odd' }, { recurrence: ['RRULE:FREQ=DAILY;COUNT=1'] })
  memory.add(calendar, { subject: 'Grace' })
  const connect = memory.connect.bind(memory)
  const { start, end } = PLAIN_EVENT
  const occurrences = [{ member: start.wall, key: '\0', start, end }]
  memory.connect = (): CalendarsProvider => {
    const provider = connect()
    async function* follow(from: FollowCalendar): ReturnType<CalendarsProvider['follow']> {
      for await (const step of provider.follow(from))
        yield step.type === 'items'
          ? {
              ...step,
              items: step.items.map(item => (item.key === odd.key ? { ...item, occurrences } : item)),
            }
          : step
    }
    return { ...provider, follow }
  }
  await account.pass()
  const { rows } = await sql<{ subject: string; is_complete: boolean }>`
    select shown ->> 'subject' as subject, is_complete
    from calendar_event join calendar on calendar.id = calendar_id order by (shown ->> 'subject') collate "C"
  `.execute(door.db)
  expect(rows).toEqual([
    { subject: 'Ada', is_complete: true },
    { subject: 'Grace', is_complete: true },
  ])
  expect(await countQuarantined(door.db, account.id)).toBe(1)
})
