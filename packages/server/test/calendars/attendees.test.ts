import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { AccountAvailability } from '@waxwing/contract/calendars/availability.ts'
import { expect, test } from 'vitest'
import { startCyrusDav } from '../servers/cyrus-dav.ts'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { calendarFile, eventText } from '../servers/event-text.ts'
import { useServer } from '../servers/shared-server.ts'
import { openSyncApp } from '../sync/followed-account.ts'
import { dayAhead, waitForCalendars } from './caldav-account.ts'

const opened = useServer(() => openSyncApp())
const dovecot = useServer(startDovecot)
const cyrus = useServer(startCyrusDav)

test('attendees on the own scheduling server are asked when they are busy', async () => {
  const [davUser, grace] = [await cyrus().addUser(), await cyrus().addUser()]
  await davTestClient(cyrus(), davUser).makeCalendar('work')
  const others = davTestClient(cyrus(), grace)
  const calendar = await others.makeCalendar('work')
  const day = dayAhead(3)
  const lines = [`DTSTART:${day}T100000Z`, `DTEND:${day}T110000Z`, 'SUMMARY:Secret']
  await others.put(`${calendar}one.ics`, calendarFile([eventText('one', lines)]))

  const user = await dovecot().addUser()
  const connection = connectionWithDav(dovecot(), user, { dav: cyrus(), davUser, half: 'calendarUrl' })
  const { body: account } = await opened().post<Account>('/v1/imap-accounts', connection)
  await waitForCalendars(opened(), account.id)
  const at = (hour: string) => `${day.replace(/^(....)(..)(..)$/, '$1-$2-$3')}T${hour}:00:00.000Z`
  const { status, body } = await opened().post<AccountAvailability>(
    `/v1/accounts/${account.id}/availability/find`,
    {
      start: at('09'),
      end: at('12'),
      durationMinutes: 60,
      stepMinutes: 60,
      attendees: [grace.email, 'nobody@elsewhere.example'],
    },
  )
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      busy: [],
      slots: [
        { start: at('09'), end: at('10') },
        { start: at('11'), end: at('12') },
      ],
      attendees: [
        { address: grace.email, busy: [{ start: at('10'), end: at('11') }], resolved: true },
        { address: 'nobody@elsewhere.example', busy: [], resolved: false },
      ],
      complete: false,
      unresolved: ['nobody@elsewhere.example'],
      truncated: false,
    },
  })
})
