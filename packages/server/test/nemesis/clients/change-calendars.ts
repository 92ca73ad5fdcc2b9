import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { DAY_MS } from '../../../src/kit/wall-clock.ts'
import { MADE, MEETING } from '../event-names.ts'
import { type ClientRun, keepDoing, type RunAccount, type RunClient } from './client-run.ts'

const PAUSE_MILLISECONDS = [200, 1_200] as const
/** Series of the API, which it also splits and renames. */
const SERIES = 'Series'
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
const HOUR_MS = 3_600_000
const DAYS = 60

const at = (time: number) => ({ dateTime: new Date(time).toISOString(), timeZone: 'UTC' })

/** Makes singles, series and meetings, changes them in every scope, and deletes them. */
export const changeCalendars: RunClient = async run => {
  let number = 0
  await keepDoing(run, PAUSE_MILLISECONDS, () =>
    changeOne(run, run.random.pick(run.accounts), () => `event-${++number}`),
  )
}

async function changeOne(run: ClientRun, account: RunAccount, next: () => string): Promise<void> {
  const { api, random } = run
  const path = `/v1/accounts/${account.id}/calendar-events`
  const kind = random.between(0, 99)
  if (kind < 40) return create(run, account, { key: next(), isMeeting: kind < 12 })
  const range = `start=${at(TODAY).dateTime}&end=${at(TODAY + 2 * DAYS * DAY_MS).dateTime}`
  const { body, outcome } = await api.send({ method: 'GET', path: `${path}?limit=500&${range}` })
  const events = outcome === 'ok' ? (body['items'] as CalendarEvent[]) : []
  if (events.length === 0) return
  const event = random.pick(events)
  const subject = event.subject ?? ''
  const mark = { accountId: account.id, subject }
  if (subject.startsWith(MADE) || subject.startsWith(MEETING)) {
    // A change of a place would be mailed to the guests of a meeting.
    const isDeleted = kind > 85 || subject.startsWith(MEETING)
    await (isDeleted
      ? api.insist({ method: 'DELETE', path: `${path}/${event.id}`, event: mark })
      : api.insist({ method: 'PATCH', path: `${path}/${event.id}`, body: { location: next() } }))
    return
  }
  const scope = event.seriesId === null ? '' : `?scope=${random.pick(['this', 'following', 'series'])}`
  const time = Date.parse(event.start.dateTime ?? '')
  const change = random.pick([{ subject: `${SERIES} ${next()}` }, { start: at(time + HOUR_MS) }])
  await api.insist({ method: 'PATCH', path: `${path}/${event.id}${scope}`, body: change })
}

async function create(
  { api, random }: ClientRun,
  { id: accountId, isInviting }: RunAccount,
  { key, isMeeting }: { key: string; isMeeting: boolean },
): Promise<void> {
  const listed = await api.send({ method: 'GET', path: `/v1/accounts/${accountId}/calendars` })
  const calendars = listed.outcome === 'ok' ? (listed.body['items'] as Calendar[]) : []
  if (calendars.length === 0) return
  const invites = isMeeting && isInviting === true
  const isSeries = !invites && random.chance(0.5)
  const subject = `${invites ? MEETING : isSeries ? SERIES : MADE} ${key}`
  const time = TODAY + random.between(1, DAYS) * DAY_MS + 9 * HOUR_MS
  const body = {
    calendarId: random.pick(calendars).id,
    subject,
    start: at(time),
    end: at(time + HOUR_MS),
    ...(isSeries && { recurrence: [`RRULE:FREQ=DAILY;COUNT=${random.between(2, 6)}`] }),
    ...(invites && { attendees: [{ address: `${key}@guests.test` }] }),
  }
  const event = isSeries ? {} : { event: { accountId, subject } }
  const path = `/v1/accounts/${accountId}/calendar-events`
  await api.insist({ method: 'POST', path, body, key: `calendar-${key}`, ...event })
}
