import type { CalendarsProvider, CalendarWindow, RemoteCalendar } from '../calendars.ts'
import type { CalendarsWriter } from '../changing-calendars.ts'
import type { Offering } from '../connected-account.ts'
import { ProviderFailure } from '../failure.ts'
import type { GoogleApiOptions } from '../google/google-api.ts'
import type { Urgency } from '../google/governor.ts'
import { findBusy } from './busy.ts'
import { CalendarApi } from './calendar-api.ts'
import { readEntry } from './calendar-entry.ts'
import { type ChannelPlan, Channels } from './channels.ts'
import { readCursor } from './cursor.ts'
import { findEvent, followEvents, listVersions, pagesOf } from './following.ts'
import { Pace } from './pace.ts'
import { EventReader } from './reading.ts'
import { GoogleCalendarWriter } from './writing/writer.ts'

export interface GoogleCalendarOptions extends GoogleApiOptions {
  /** How Google is asked for notices; null by default: calendars are only polled. */
  channelPlan?: ChannelPlan | null
}

/** The calendars of a user of Google. It holds no connection of its own. */
export function googleCalendarAccount({
  channelPlan = null,
  ...options
}: GoogleCalendarOptions): Offering<'calendars'> {
  const calendars = new GoogleCalendars(new CalendarApi(options), channelPlan)
  return { calendars, [Symbol.asyncDispose]: async () => {} }
}

/** A class, since thousands of idle accounts keep one each, and share its methods. */
class GoogleCalendars implements CalendarsProvider {
  readonly api: CalendarApi
  readonly writer: CalendarsWriter
  readonly #pace = new Pace()
  readonly #channels: Channels | null
  /** Null until they were listed. */
  #listed: ReadonlySet<string> | null = null

  constructor(api: CalendarApi, channelPlan: ChannelPlan | null) {
    this.api = api
    this.#channels = channelPlan && new Channels(api, channelPlan)
    this.writer = new GoogleCalendarWriter(api)
  }

  async keepNotifying(signal: AbortSignal): Promise<void> {
    if (this.#listed) await this.#channels?.keep(this.#listed, signal)
  }

  async listCalendars(signal: AbortSignal): Promise<RemoteCalendar[]> {
    const calendars: RemoteCalendar[] = []
    for await (const { items } of pagesOf(pageToken => this.api.listEntries(pageToken, signal)))
      calendars.push(...items.flatMap(item => readEntry(item)?.calendar ?? []))
    this.#listed = new Set(calendars.map(({ key }) => key))
    this.#pace.keep(this.#listed)
    return calendars
  }

  async findChanged(
    calendars: Parameters<CalendarsProvider['findChanged']>[0],
    signal: AbortSignal,
    mayDefer = false,
  ): Promise<ReadonlySet<string>> {
    const changed = new Set<string>()
    let isRefused = false
    for (const { calendar, cursor } of calendars) {
      const syncToken = readCursor(cursor)?.syncToken ?? null
      const now = this.api.now()
      if (syncToken !== null && mayDefer && !this.#isDue(calendar, now)) continue
      const isDeferred = mayDefer && !calendar.isPrimary
      if (isDeferred && isRefused) continue
      try {
        const urgency = isDeferred ? 'background' : 'prompt'
        const hasChanged =
          syncToken === null || (await this.#hasChanged(calendar.key, syncToken, urgency, signal))
        this.#pace.asked(calendar.key, now, hasChanged)
        if (hasChanged) changed.add(calendar.key)
      } catch (error) {
        // These questions have only a part of the quota. They wait for a later look, and what was found counts.
        if (!isDeferred || !(error instanceof ProviderFailure) || !error.isBusy) throw error
        isRefused = true
      }
    }
    return changed
  }

  findBusy(...asked: Parameters<NonNullable<CalendarsProvider['findBusy']>>) {
    return findBusy(this.api, ...asked)
  }

  follow(from: Parameters<CalendarsProvider['follow']>[0]) {
    return followEvents(this.api, from)
  }

  list({ key }: RemoteCalendar, window: CalendarWindow, signal: AbortSignal) {
    return listVersions(this.api, key, window.start.getTime(), signal)
  }

  async read(
    { calendarKey, keys }: Parameters<CalendarsProvider['read']>[0],
    signal?: AbortSignal,
  ): ReturnType<CalendarsProvider['read']> {
    // Google answers alike for a missing event and a missing calendar.
    const entry = readEntry(await this.api.getEntry(calendarKey, signal))
    if (!entry) throw new ProviderFailure('not_found', 'Google Calendar does not show the calendar any more.')
    const ask = (key: string) => findEvent(this.api, calendarKey, key, signal)
    const answered: unknown[] = []
    for (const key of new Set(keys)) {
      const found = await ask(key)
      if (found !== null) answered.push(found)
    }
    const { access, timeZone } = entry.calendar
    const around = { access, timeZone, defaultReminders: entry.defaultReminders }
    const { objects, unreadable } = await new EventReader(ask).read(answered, around)
    return { items: objects, unreadable }
  }

  #isDue(calendar: RemoteCalendar, now: number): boolean {
    return this.#pace.isDue(calendar, now, this.#channels?.isPushed(calendar.key))
  }

  /** A calendar whose token has expired, or that refuses the question, counts as changed: following it shows why. */
  async #hasChanged(key: string, syncToken: string, urgency: Urgency, signal: AbortSignal): Promise<boolean> {
    try {
      return await this.api.hasChanged(key, syncToken, urgency, signal)
    } catch (error) {
      if (error instanceof ProviderFailure && OF_CALENDAR.has(error.kind)) return true
      throw error
    }
  }
}

const OF_CALENDAR: ReadonlySet<ProviderFailure['kind']> = new Set(['rejected', 'not_found', 'forbidden'])
