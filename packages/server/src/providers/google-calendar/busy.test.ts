import { expect, test } from 'vitest'
import { arrangeGoogleCalendar } from '../../../test/google-calendar/arrange-google-calendar.ts'
import { configureCalendar } from '../../../test/google-calendar/other-client.ts'
import { startSandbox } from '../../../test/servers/sandbox.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { never } from '../conformance/arrangement.ts'

const sandbox = useServer(async () => {
  const server = await startSandbox()
  await configureCalendar(server, { quota: 'off' })
  return server
})

const utc = (hour: number) => ({ dateTime: `2026-12-01T${String(hour).padStart(2, '0')}:00:00Z` })

test('Google answers for calendars that the user sees, 50 a call, and for no others', async () => {
  const arranged = await arrangeGoogleCalendar(sandbox())
  const { client, email } = arranged
  await client.insert({ summary: 'One', start: utc(9), end: utc(10) })
  await client.insert({ summary: 'Free', start: utc(11), end: utc(12), transparency: 'transparent' })
  const { id } = await client.addCalendar({ summary: 'More' })
  await client.insert({ summary: 'Two', start: utc(14), end: utc(15) }, id)
  const strangers = Array.from({ length: 60 }, (_, nth) => `stranger-${nth}@gmail.test`)
  await using account = await arranged.connect()
  const range = { start: new Date('2026-12-01T00:00:00Z'), end: new Date('2026-12-01T14:30:00Z') }
  const found = await account.calendars.findBusy!([...strangers, email.toUpperCase(), id], range, never)
  const at = (time: string) => new Date(`2026-12-01T${time}:00Z`)
  expect([...found]).toEqual([
    [email.toUpperCase(), [{ start: at('09:00'), end: at('10:00') }]],
    [id, [{ start: at('14:00'), end: at('14:30') }]],
  ])
})
