import { davCalendars } from '../calendars/dav-calendars.ts'
import { graphCalendars } from '../calendars/graph-calendars.ts'
import type { Random } from '../seeded.ts'
import { davTestClient } from '../servers/dav-client.ts'
import type { DavTestServer, DavTestUser } from '../servers/dav-test-server.ts'
import type { Office } from './office.ts'

/** The number of kinds of accounts that have calendars: the first ones in the list of each provider. */
export const KINDS_WITH_CALENDARS = 1
const FURNISHED = 4

/** The calendars of one account at its provider. */
export interface RunCalendars {
  /** Start and subject of everything that takes place, read past the proxy. */
  list(): Promise<string[]>
  /** Changes an event, as another program of its owner does, or adds one. */
  act(): Promise<unknown>
}

/** Gives a user of the CalDAV server two calendars with some events. */
export async function openDavCalendars(
  server: DavTestServer,
  user: DavTestUser,
  random: Random,
): Promise<RunCalendars> {
  const client = davTestClient(server, user)
  const calendars = [await client.makeCalendar('work'), await client.makeCalendar('private')]
  const other = davCalendars(client, { url: server.url, homePath: user.calendarHomePath, calendars })
  for (let nth = 0; nth < FURNISHED; nth++) await other.act(random)
  return { list: () => other.list(), act: () => other.act(random) }
}

/** Gives a user of Microsoft some events. */
export async function openGraphCalendars(
  office: Office,
  email: string,
  random: Random,
): Promise<RunCalendars> {
  const other = graphCalendars(() => office.openClient(email))
  for (let nth = 0; nth < FURNISHED; nth++) await other.act(random)
  return { list: () => other.list(), act: () => other.act(random) }
}
