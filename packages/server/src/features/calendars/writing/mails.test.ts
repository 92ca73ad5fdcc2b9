import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { timesAt, TODAY } from '../../../../test/calendars/calendar-history.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { refuse } from '../../../calls/refuse.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'
import type { WriteIntent } from './intents.ts'
import { sendsNothing } from './mails.ts'

test('a write that nobody is told of is not noted, and one of which the mails cannot be sent is refused', async () => {
  const noted: WriteIntent[] = []
  let canSend = true
  const mails = {
    async requireSendable() {
      if (!canSend) refuse('provider_unsupported')
    },
    drop: () => {},
    async prepare(_: unknown, { intent }: { intent: WriteIntent }) {
      noted.push(intent)
      return sendsNothing
    },
  }
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database, { mails })
  const account = await door.openAccount('files')
  const { id, memory, path } = account
  memory.tellsPeople = false
  const [calendar = ''] = memory.calendars.keys()
  const { email } = await door.db
    .selectFrom('account')
    .select('email')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const { key } = memory.add(calendar, {
    ...timesAt(TODAY + 3 * DAY_MS),
    organizer: { name: null, address: email },
    attendees: [{ name: null, address: 'ben@example.com', type: 'required', response: 'needs_action' }],
    subject: 'Old',
  })
  await account.pass()
  const event = await door.db
    .selectFrom('calendar_event')
    .select('id')
    .where('account_id', '=', id)
    .executeTakeFirstOrThrow()
  const change = (body: object) => door.patch(`${path}/calendar-events/${event.id}`, body)

  expect((await change({ reminderMinutes: 5 })).status).toBe(200)
  expect((await change({ subject: 'Quiet', notify: false })).status).toBe(200)
  canSend = false
  const refused = await change({ subject: 'Loud' })
  canSend = true
  expect(refused).toMatchObject({ status: 400, body: { code: 'provider_unsupported' } })
  expect(memory.items.get(key)?.event?.subject).toBe('Quiet')
  expect(noted).toEqual([])
  expect((await change({ subject: 'Loud' })).status).toBe(200)
  expect(noted).toMatchObject([
    { asked: { change: { subject: 'Loud' } }, mailed: { before: { event: { subject: 'Quiet' } } } },
  ])
})
