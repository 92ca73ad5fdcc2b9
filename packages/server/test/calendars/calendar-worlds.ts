import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import type { Answer, Caller } from '../caller.ts'
import { SCOPES } from '../gmail/gmail-client.ts'
import {
  CALENDAR_HOST,
  CALENDAR_SCOPE,
  configureCalendar,
  otherClient,
} from '../google-calendar/other-client.ts'
import { openGraphClient } from '../graph/graph-client.ts'
import type { Random } from '../seeded.ts'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import type { DavTestServer } from '../servers/dav-test-server.ts'
import { startFaultProxy } from '../servers/fault-proxy.ts'
import type { MailServer } from '../servers/mail-server.ts'
import type { SandboxServer } from '../servers/sandbox.ts'
import { davCalendars } from './dav-calendars.ts'
import { googleCalendars } from './google-calendars.ts'
import { graphCalendars } from './graph-calendars.ts'
import type { OtherCalendars } from './other-calendars.ts'

/** A new user of a provider, whose calendars another client changes. */
export interface CalendarWorld extends AsyncDisposable {
  other: OtherCalendars
  /** Connects the user. @returns the id of the account */
  connect(caller: Caller): Promise<string>
  /** Lets a fifth of the calls of the service fail in one way, or does something else that a provider may do. */
  trouble(random: Random): Promise<unknown>
  /** Ends the failures. */
  calm(): Promise<unknown>
}

/** Bytes of an answer after which a connection is cut. */
const SHORT_BYTES = [100, 3_000] as const
const FAILING = 0.2

/** A server of CalDAV of its own behind a proxy, beside a mailbox. */
export async function davWorld(
  start: () => Promise<DavTestServer>,
  mailServer: MailServer,
): Promise<CalendarWorld> {
  await using opened = new AsyncDisposableStack()
  const server = opened.use(await start())
  const proxy = opened.use(
    await startFaultProxy({ host: server.url.hostname, port: Number(server.url.port) }),
  )
  const davUser = await server.addUser()
  const client = davTestClient(server, davUser)
  const calendars = [await client.makeCalendar('one'), await client.makeCalendar('two')]
  const url = new URL(server.url)
  url.port = String(proxy.port)
  const dav = { ...server, url }
  const connection = connectionWithDav(mailServer, await mailServer.addUser(), {
    dav,
    davUser,
    half: 'calendarUrl',
  })
  const owned = opened.move()
  return {
    other: davCalendars(client, { url: server.url, homePath: davUser.calendarHomePath, calendars }),
    connect: async caller => idOf(await caller.post<Account>('/v1/imap-accounts', connection)),
    async trouble(random) {
      proxy.setFaults(random.chance(FAILING) ? { cutAfterBytes: random.between(...SHORT_BYTES) } : {})
      if (random.chance(FAILING)) proxy.cutAll()
    },
    calm: async () => proxy.setFaults({}),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const CLIENT = { id: 'sandbox', secret: 'sandbox-secret' }
const NO_QUOTA = '1000000'
const OPENID = ['openid', 'profile', 'email']
const GRAPH = ['User.Read', 'Mail.ReadWrite', 'Mail.Send', 'Calendars.ReadWrite']
const KINDS = ['rate_limit', 'error', 'torn', 'lost', 'unauthorized'] as const

/** The variables by which the service uses the sandbox, and its OAuth apps. */
export function sandboxEnv({ controlUrl }: Pick<SandboxServer, 'controlUrl'>): Record<string, string> {
  return {
    WAXWING_SANDBOX_URL: controlUrl,
    WAXWING_GOOGLE_CLIENT_ID: CLIENT.id,
    WAXWING_GOOGLE_CLIENT_SECRET: CLIENT.secret,
    WAXWING_GOOGLE_CALENDAR_CALLS_PER_MINUTE: NO_QUOTA,
    WAXWING_GOOGLE_CALENDAR_PROJECT_CALLS_PER_MINUTE: NO_QUOTA,
    WAXWING_MICROSOFT_CLIENT_ID: CLIENT.id,
    WAXWING_MICROSOFT_CLIENT_SECRET: CLIENT.secret,
    WAXWING_MICROSOFT_CHINA_CLIENT_ID: CLIENT.id,
    WAXWING_MICROSOFT_CHINA_CLIENT_SECRET: CLIENT.secret,
  }
}

/** A user of Microsoft, who is new for each cloud and number, and a colleague who invites and shares. */
export async function graphWorld(sandbox: SandboxServer, nth: number, cloud: Cloud): Promise<CalendarWorld> {
  const [email, colleague] = [`${cloud}-${nth}@office.test`, `${cloud}-${nth}-colleague@office.test`]
  const at = { provider: 'microsoft', cloud }
  const { graph: host } = CLOUDS[cloud]
  await sandbox.control('PATCH', '/graph', { limits: 'off' })
  for (const user of [email, colleague]) await sandbox.addUser(user, { messages: 0, ...at })
  const openClient = (user: string) => openGraphClient(sandbox, user, { cloud, host })
  const [client, inviting] = [await openClient(email), await openClient(colleague)]
  const scopes = [...OPENID, 'offline_access', ...GRAPH.map(scope => `https://${host}/${scope}`)]
  await inviting.ask('POST', 'calendars', { name: 'Shared' })
  const share = (role: string | null) =>
    sandbox.control('POST', '/graph/calendar-shares', {
      owner: colleague,
      calendar: 'Shared',
      user: email,
      role,
    })
  return {
    other: graphCalendars(async () => client, { email, client: inviting }),
    async connect(caller) {
      const { refreshToken } = await sandbox.grant(email, scopes, CLIENT.id, at)
      const settings = { calendarEnabled: true }
      const body = { provider: 'microsoft', microsoftCloud: cloud, refreshToken, settings }
      return idOf(await caller.post<Account>('/v1/accounts', body))
    },
    async trouble(random) {
      await sandbox.clearFaults()
      const path = '/v1.0/users/*'
      await sandbox.addFault({ does: random.pick(KINDS), host, path, probability: FAILING })
      if (random.chance(0.2)) await sandbox.expireHistory(email, random.pick(['next', 'delta']))
      if (random.chance(0.15)) await share(random.pick(['read', 'write', null]))
    },
    async calm() {
      await sandbox.clearFaults()
      await share('read')
    },
    async [Symbol.asyncDispose]() {},
  }
}

/** A user of Google, who is new for each number, and a colleague who invites and shares. */
export async function googleWorld(sandbox: SandboxServer, nth: number): Promise<CalendarWorld> {
  const [email, colleague] = [`seed-${nth}@gmail.test`, `seed-${nth}-colleague@gmail.test`]
  await configureCalendar(sandbox, { quota: 'off' })
  for (const user of [email, colleague]) await sandbox.addUser(user)
  const [client, inviting] = [otherClient(sandbox, email), otherClient(sandbox, colleague)]
  const { id: second } = await client.addCalendar({ summary: 'Second', timeZone: 'UTC' })
  const { id: shared } = await inviting.addCalendar({ summary: 'Shared', timeZone: 'UTC' })
  const share = (role: string | null) =>
    sandbox.control('POST', '/calendar/shares', { calendarId: shared, user: email, role })
  return {
    other: googleCalendars(client, { email, calendarIds: [email, second], inviting }),
    async connect(caller) {
      const { refreshToken } = await sandbox.grant(email, [...OPENID, ...SCOPES, CALENDAR_SCOPE])
      const body = { provider: 'google', refreshToken, settings: { calendarEnabled: true } }
      return idOf(await caller.post<Account>('/v1/accounts', body))
    },
    async trouble(random) {
      await sandbox.clearFaults()
      await sandbox.addFault({ does: random.pick(KINDS), host: CALENDAR_HOST, probability: FAILING })
      if (random.chance(0.2)) await client.expire()
      if (random.chance(0.2)) await configureCalendar(sandbox, { pageMax: random.pick([null, 2, 5]) })
      if (random.chance(0.15)) await share(random.pick(['reader', 'writer', null]))
    },
    async calm() {
      await sandbox.clearFaults()
      await configureCalendar(sandbox, { pageMax: null })
      await share('reader')
    },
    async [Symbol.asyncDispose]() {},
  }
}

function idOf({ status, body }: Answer<Account>): string {
  if (status !== 200) throw new Error(`could not connect: ${JSON.stringify(body)}`)
  return body.id
}
