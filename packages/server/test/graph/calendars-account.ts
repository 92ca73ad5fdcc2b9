import type { Cloud } from '../../src/providers/sign-in.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import { dayAhead, waitForCalendars } from '../calendars/caldav-account.ts'
import { addOfficeUser, connectUser, OWN_SCOPES } from './delegates.ts'
import { type GraphClient, openGraphClient } from './graph-client.ts'
import type { openGraphApp } from './open-graph-app.ts'

export const ZONE = 'W. Europe Standard Time'

export const dateOf = (days: number) => dayAhead(days).replace(/^(....)(..)(..)$/, '$1-$2-$3')
export const timeOn = (days: number, time = '00:00') => ({
  dateTime: `${dateOf(days)}T${time}:00`,
  timeZone: ZONE,
})

/** An hour in Berlin, some days ahead. */
export const hourOn = (days: number, hour: number, subject: string) => ({
  subject,
  start: timeOn(days, `${hour}:00`),
  end: timeOn(days, `${hour + 1}:00`),
})

export const daily = (days: number, numberOfOccurrences: number) => ({
  pattern: { type: 'daily', interval: 1 },
  range: { type: 'numbered', startDate: dateOf(days), numberOfOccurrences },
})

/** Connects a new user of Microsoft by a refresh token, and waits for the first sync of the calendars. */
export async function connectCalendars(
  { app, sandbox }: Pick<Awaited<ReturnType<typeof openGraphApp>>, 'app' | 'sandbox'>,
  arrange: (client: GraphClient) => Promise<unknown> = async () => {},
  cloud: Cloud = 'global',
) {
  const email = await addOfficeUser(sandbox, { name: 'calendars', cloud })
  const client = await openGraphClient(sandbox, email, { cloud, host: CLOUDS[cloud].graph })
  await arrange(client)
  const { id } = await connectUser(app, sandbox, email, {
    scopes: [...OWN_SCOPES, 'Calendars.ReadWrite'],
    cloud,
    settings: { calendarEnabled: true, sharedMailboxesEnabled: false },
  })
  const account = await waitForCalendars(app, id)
  const look = () => app.post(`/v1/accounts/${id}/sync`, { kinds: ['calendar'] })
  return { id, email, client, account, look }
}
