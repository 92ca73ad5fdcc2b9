import type { calendar_v3 as v3 } from '@googleapis/calendar'
import type { DrivenSandbox } from '../servers/sandbox.ts'

export type Event = v3.Schema$Event
type Calendar = v3.Schema$Calendar

export const CALENDAR_SCOPE = 'https://www.googleapis.com/auth/calendar'
export const CALENDAR_HOST = 'www.googleapis.com'

/** Another client of the calendars of a user of the sandbox. A calendar that is not named is the primary one. */
export interface OtherClient {
  insert(event: Event, calendarId?: string): Promise<Event & { id: string }>
  get(eventId: string): Promise<Event>
  patch(eventId: string, change: Event, calendarId?: string): Promise<Event>
  remove(eventId: string, calendarId?: string): Promise<void>
  /** Moves a single or a series to another calendar. */
  move(eventId: string, from: string, to: string): Promise<void>
  /** The instance of a series that starts at an instant, or on a day. */
  instance(seriesId: string, originalStart: string): Promise<Event & { id: string }>
  /** Singles, series, and members that differ from them. */
  list(calendarId?: string): Promise<Array<Event & { id: string }>>
  /** Singles, exceptions and occurrences between two instants, as Google expands them. */
  listInstances(calendarId: string, timeMin: string, timeMax: string): Promise<Event[]>
  addCalendar(calendar: Calendar): Promise<Calendar & { id: string }>
  /** The calendars in the list of the user. */
  calendarIds(): Promise<string[]>
  changeEntry(calendarId: string, change: v3.Schema$CalendarListEntry): Promise<void>
  removeCalendar(calendarId: string): Promise<void>
  /** Makes the sync tokens of the user too old. */
  expire(): Promise<void>
}

/** The OAuth client of the other client, by which its calls can be distinguished from those of the service. */
const OTHER_CLIENT = 'another-client'

export function otherClient(sandbox: DrivenSandbox, email: string): OtherClient {
  let token: string | null = null
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    token ??= await signIn(sandbox, email)
    const response = await fetch(`${sandbox.origin(CALENDAR_HOST)}/calendar/v3/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }
  const events = (calendarId = 'primary') => `calendars/${encodeURIComponent(calendarId)}/events`
  const listAll = async (calendarId: string | undefined, query: Record<string, string>) => {
    const all: Array<Event & { id: string }> = []
    for (let pageToken: string | undefined; ;) {
      const asked = new URLSearchParams({ ...query, maxResults: '2500', ...(pageToken && { pageToken }) })
      const page = await call<{ items: typeof all; nextPageToken?: string }>(
        'GET',
        `${events(calendarId)}?${asked}`,
      )
      all.push(...page.items)
      if (page.nextPageToken === undefined) return all
      pageToken = page.nextPageToken
    }
  }
  return {
    insert: (event, calendarId) => call('POST', `${events(calendarId)}?conferenceDataVersion=1`, event),
    get: eventId => call('GET', `${events()}/${eventId}`),
    patch: (eventId, change, calendarId) => call('PATCH', `${events(calendarId)}/${eventId}`, change),
    remove: (eventId, calendarId) => call('DELETE', `${events(calendarId)}/${eventId}`),
    move: (eventId, from, to) =>
      call('POST', `${events(from)}/${eventId}/move?${new URLSearchParams({ destination: to })}`),
    async instance(seriesId, originalStart) {
      const query = new URLSearchParams({ originalStart })
      const { items } = await call<{ items: Array<Event & { id: string }> }>(
        'GET',
        `${events()}/${seriesId}/instances?${query}`,
      )
      return items[0]!
    },
    list: calendarId => listAll(calendarId, { singleEvents: 'false' }),
    listInstances: (calendarId, timeMin, timeMax) =>
      listAll(calendarId, { singleEvents: 'true', timeMin, timeMax }),
    addCalendar: calendar => call('POST', 'calendars', calendar),
    async calendarIds() {
      const { items } = await call<{ items: Array<{ id: string }> }>(
        'GET',
        'users/me/calendarList?showHidden=true',
      )
      return items.map(({ id }) => id)
    },
    changeEntry: (calendarId, change) =>
      call('PATCH', `users/me/calendarList/${encodeURIComponent(calendarId)}?colorRgbFormat=true`, change),
    removeCalendar: calendarId => call('DELETE', `calendars/${encodeURIComponent(calendarId)}`),
    expire: () => sandbox.control('POST', '/calendar/expire', { user: email }),
  }
}

async function signIn(sandbox: DrivenSandbox, email: string): Promise<string> {
  // It may be there from another user.
  await sandbox.addClient({ clientId: OTHER_CLIENT, clientSecret: OTHER_CLIENT }).catch(() => {})
  return (await sandbox.grant(email, [CALENDAR_SCOPE], OTHER_CLIENT)).accessToken
}

/** Changes how the Calendar API of the sandbox behaves. */
export function configureCalendar(
  sandbox: Pick<DrivenSandbox, 'control'>,
  settings: Record<string, unknown>,
): Promise<unknown> {
  return sandbox.control('PATCH', '/calendar', settings)
}
