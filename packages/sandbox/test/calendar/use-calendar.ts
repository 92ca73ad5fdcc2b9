import { auth, calendar, type calendar_v3 } from '@googleapis/calendar'
import { beforeEach } from 'vitest'
import type { Parsed } from '../read-answer.ts'
import { type TestGoogleApi, useGoogleApi } from '../use-google-api.ts'
import type { Answers } from './answers.ts'

export const CALENDAR = 'https://www.googleapis.com/auth/calendar'

export type Event = calendar_v3.Schema$Event
/** A change of an event; null removes a conference, although Google's types lack it. */
type Change = Omit<Event, 'conferenceData'> & { conferenceData?: Event['conferenceData'] | null }

/** The answer to a call of Google's client. */
type Called = Promise<{ status: number; data: unknown }>

/** Google's own client, with its answers checked against Google's types, for one user. */
export interface TestClient {
  readonly api: calendar_v3.Calendar
  insert(event: Event, query?: Partial<calendar_v3.Params$Resource$Events$Insert>): Promise<Event>
  patch(
    eventId: string,
    event: Change,
    query?: Partial<calendar_v3.Params$Resource$Events$Patch>,
  ): Promise<Event>
  get(eventId: string): Promise<Event>
  remove(eventId: string): Promise<number>
  list(query?: calendar_v3.Params$Resource$Events$List): Promise<calendar_v3.Schema$Events>
  /** All pages of a listing, and the token of the last one. */
  sync(query?: calendar_v3.Params$Resource$Events$List): Promise<{ items: Event[]; syncToken: string }>
}

export interface TestCalendar {
  readonly api: TestGoogleApi<Answers>
  client(user: string, scopes?: string[]): Promise<TestClient>
  /** Adds users without events. */
  addUsers<const Names extends readonly string[]>(...names: Names): Promise<{ [Key in keyof Names]: string }>
}

/** Status and reason of a call that was refused. */
export async function refusal(call: Called): Promise<[number, string]> {
  const { status, data } = await call
  return [status, (data as Parsed)?.error?.errors?.[0]?.reason]
}

/** One sandbox for the tests of a file, which begins again before each. Quotas are off, and Meet answers at once. */
export function useCalendar(): TestCalendar {
  const api = useGoogleApi<Answers>('www.googleapis.com', new URL('./answers.ts', import.meta.url))
  let users = 0
  const calendarId = 'primary'
  const used: TestCalendar = {
    api,
    async client(user, scopes = [CALENDAR]) {
      const signedIn = new auth.OAuth2()
      signedIn.setCredentials({ access_token: await api.token(user, scopes) })
      const client = calendar({ version: 'v3', auth: signedIn })
      const { events } = client
      const one: TestClient = {
        api: client,
        insert: (requestBody, query) =>
          api.checked('event', events.insert({ calendarId, requestBody, ...query }, api.options) as Called),
        patch: (eventId, event, query) =>
          api.checked(
            'event',
            events.patch(
              { calendarId, eventId, requestBody: event as Event, ...query },
              api.options,
            ) as Called,
          ),
        get: eventId => api.checked('event', events.get({ calendarId, eventId }, api.options) as Called),
        remove: async eventId => (await events.delete({ calendarId, eventId }, api.options)).status,
        list: query => api.checked('events', events.list({ calendarId, ...query }, api.options) as Called),
        async sync(query = {}) {
          const items: Event[] = []
          let pageToken: string | undefined
          for (;;) {
            const page = await one.list({ ...query, ...(pageToken && { pageToken }) })
            items.push(...(page.items ?? []))
            pageToken = page.nextPageToken ?? undefined
            if (!pageToken) return { items, syncToken: page.nextSyncToken ?? '' }
          }
        },
      }
      return one
    },
    async addUsers(...names) {
      users += 1
      const emails = names.map(name => `${name}-${users}@gmail.test`)
      for (const email of emails) await api.box.ask('POST', '/users', { email })
      return emails as { [Key in keyof typeof names]: string }
    },
  }
  beforeEach(() => {
    api.google.calendars.configure({ quota: 'off', meetSeconds: 0 })
  })
  return used
}

/** An hour on a day of December 2026 in Berlin. */
export const hourOn = (day: number, hour = 9): Pick<Event, 'start' | 'end'> => ({
  start: { dateTime: `2026-12-${pad(day)}T${pad(hour)}:00:00`, timeZone: 'Europe/Berlin' },
  end: { dateTime: `2026-12-${pad(day)}T${pad(hour + 1)}:00:00`, timeZone: 'Europe/Berlin' },
})

const pad = (value: number): string => String(value).padStart(2, '0')
