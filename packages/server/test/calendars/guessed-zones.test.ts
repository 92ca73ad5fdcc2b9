import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { expect, test } from 'vitest'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { BERLIN, calendarFile, eventText } from '../servers/event-text.ts'
import { startRadicale } from '../servers/radicale.ts'
import { openSyncApp } from '../sync/followed-account.ts'
import { dayAhead, waitForSubjects } from './caldav-account.ts'

const CUSTOM = 'Customized Time Zone'
const customBerlin = BERLIN.replace('TZID:Europe/Berlin', `TZID:${CUSTOM}`)

test('a zone of a calendar that no name identifies is logged once, with the zone that was taken for it', async () => {
  await using dovecot = await startDovecot()
  await using server = await startRadicale()
  await using app = await openSyncApp()
  const user = await dovecot.addUser()
  const davUser = await server.addUser()
  const client = davTestClient(server, davUser)
  const calendar = await client.makeCalendar('team')
  const put = (name: string, days: number, zone: string, tzid: string) => {
    const start = `DTSTART;TZID=${tzid}:${dayAhead(days)}T090000`
    const event = eventText(name, [start, 'DURATION:PT1H', `SUMMARY:${name}`])
    return client.put(`${calendar}${name}.ics`, calendarFile([zone, event]))
  }
  await put('one', 1, customBerlin, CUSTOM)
  await put('two', 2, customBerlin, CUSTOM)
  await put('three', 3, BERLIN, 'Europe/Berlin')
  const connection = connectionWithDav(dovecot, user, { dav: server, davUser, half: 'calendarUrl' })
  const { body, status } = await app.post<Account>('/v1/imap-accounts', connection)
  expect(status).toBe(200)
  const { id: accountId } = body
  await waitForSubjects(app, accountId, ['one', 'two', 'three'])
  const guesses = () =>
    app.logLines
      .map(line => JSON.parse(line) as Record<string, unknown>)
      .filter(({ message }) => String(message).startsWith('Time zones of a calendar'))
  expect(guesses()).toMatchObject([
    { level: 'warn', accountId, kind: 'equal', names: [expect.stringMatching(/^Europe/)] },
  ])

  await put('four', 4, customBerlin, CUSTOM)
  await put('five', 5, customBerlin.replaceAll('+0200', '+0230'), CUSTOM)
  await app.post(`/v1/accounts/${accountId}/sync`, { kinds: ['calendar'] })
  await waitForSubjects(app, accountId, ['one', 'two', 'three', 'four', 'five'])
  expect(guesses().map(({ kind }) => kind)).toEqual(['equal', 'definition'])
})
