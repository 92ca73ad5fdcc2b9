import type { DrivenSandbox } from '../packages/server/test/servers/sandbox.ts'
import {
  CALENDAR_HOST,
  CALENDAR_SCOPE,
  configureCalendar,
  otherClient,
} from '../packages/server/test/google-calendar/other-client.ts'
import { SCOPES } from '../packages/server/test/gmail/gmail-client.ts'
import { hourOf } from './calendar-files.ts'
import { connectByToken } from './connect-by-token.ts'
import { gmailSettings } from './gmail-accounts.ts'
import {
  addMailbox,
  connectGraph,
  GRAPH_HOST,
  graphSettings,
  grantGraph,
  WITH_CALENDARS,
} from './graph-accounts.ts'
import type { BenchService } from './service.ts'

/** A user of the sandbox whose calendar the service follows. */
export interface CloudUser {
  /** Adds an event as another client does. */
  add(nth: number): Promise<unknown>
  /** Connects the account without waiting for anything. @returns its id */
  connect(service: BenchService): Promise<string>
  /** A token that may read the calendar. */
  token(): Promise<string>
}

/** A provider that the sandbox plays. */
export interface CalendarCloud {
  name: string
  host: string
  /** Whether a call of the service is about calendars. */
  isAsked(path: string): boolean
  settings(controlUrl: string): Record<string, string>
  addUser(sandbox: DrivenSandbox, email: string): Promise<CloudUser>
}

const timesOf = (nth: number) => {
  const { start, end } = hourOf(nth)
  const at = (time: number) => ({ dateTime: new Date(time).toISOString().slice(0, 19), timeZone: 'UTC' })
  return { start: at(start), end: at(end) }
}

export const CLOUDS: readonly CalendarCloud[] = [
  {
    name: 'Google',
    host: CALENDAR_HOST,
    isAsked: path => path.startsWith('/calendar/'),
    settings: controlUrl => ({
      ...gmailSettings({ controlUrl }),
      WAXWING_GOOGLE_CALENDAR_CALLS_PER_MINUTE: '1000000',
      WAXWING_GOOGLE_CALENDAR_PROJECT_CALLS_PER_MINUTE: '1000000',
    }),
    async addUser(sandbox, email) {
      await configureCalendar(sandbox, { quota: 'off' })
      await sandbox.addUser(email)
      const client = otherClient(sandbox, email)
      const scopes = [...SCOPES, CALENDAR_SCOPE, 'openid', 'email', 'profile']
      return {
        add: nth => client.insert({ summary: `Meeting ${nth}`, ...timesOf(nth) }),
        async connect(service) {
          const { refreshToken } = await sandbox.grant(email, scopes)
          return connectByToken(service, { provider: 'google', refreshToken })
        },
        token: async () => (await sandbox.grant(email, scopes)).accessToken,
      }
    },
  },
  {
    name: 'Microsoft Graph',
    host: GRAPH_HOST,
    isAsked: path => /\/(?:calendars|calendarView|calendar|events)\b/.test(path),
    settings: graphSettings,
    async addUser(sandbox, email) {
      await sandbox.control('PATCH', '/graph', { limits: 'off' })
      const client = await addMailbox(sandbox, email, 0)
      return {
        add: nth => client.ask('POST', 'events', { subject: `Meeting ${nth}`, ...timesOf(nth) }),
        connect: service => connectGraph(service, sandbox, email, WITH_CALENDARS),
        token: async () => (await grantGraph(sandbox, email, WITH_CALENDARS)).accessToken,
      }
    },
  },
]
