import { Hono } from 'hono'
import type { GoogleGround } from '../google/ground.ts'
import type { HostApp, HostEnv } from '../hosting/host-app.ts'
import { InvalidInput, parseInput } from '../world/invalid-input.ts'
import type { User } from '../world/users.ts'
import { serveMethod } from './api/serve.ts'
import { type Channel, openChannels } from './channels.ts'
import { fillCalendar } from './fill.ts'
import type { CalendarParts } from './parts.ts'
import { openQuota } from './quota.ts'
import { type CalendarSettings, DEFAULT_SETTINGS, SettingsSchema } from './settings.ts'
import {
  type Calendar,
  type CalendarList,
  newCalendar,
  type Role,
  type Store,
  subscribe,
  touchEntries,
} from './store/calendars.ts'

/** The calendars of all users of Google. */
export interface Calendars {
  /** Answers the paths below /calendar/v3/ of www.googleapis.com. */
  readonly app: HostApp
  /** Makes the primary calendar of a user, who begins with a week of events if there is mail. */
  addUser(user: User, messages: number): void
  /** Gives a user a role in a calendar of another one, which comes into their list; null takes it from them. */
  share(calendarId: string, user: User, role: Role | null): void
  /** Makes every sync token of before now too old, of the calendars and the list of one user or of all. */
  expire(user: User | null): void
  /** The notification channels that are open. */
  channels(): readonly Channel[]
  /** Changes how the API behaves; returns the settings. Throws `InvalidInput` for settings that are wrong. */
  configure(settings: unknown): CalendarSettings
  close(): void
}

const ZONE = 'Europe/Berlin'

export function openCalendars({ accounts, clock, post, ...ground }: GoogleGround): Calendars {
  const random = ground.random.stream('calendars')
  const settings: CalendarSettings = { ...DEFAULT_SETTINGS }
  const channels = openChannels(settings, clock.now, ground.random.stream('channels'))
  const store: Store = {
    now: clock.now,
    random,
    calendars: new Map(),
    lists: new Map(),
    changed: channels.changed,
  }
  const parts: CalendarParts = { settings, store, post, channels }
  const admission = { accounts, charge: openQuota(settings, clock.now) }
  const app: HostApp = new Hono<HostEnv>()
  app.all('/calendar/v3/*', ({ req, env }) => serveMethod(parts, admission, req.raw, env.call))
  let guest: string | null = null
  return {
    app,
    addUser({ email, name, organization }, messages) {
      const list: CalendarList = { email, name, organization, entries: new Map(), change: 0, generation: 0 }
      store.lists.set(email, list)
      const fields = { summary: email, timeZone: ZONE }
      const primary = newCalendar(store, list, { fields, isPrimary: true })
      if (messages === 0) return
      fillCalendar(parts, list, primary, guest)
      guest = email
    },
    share(calendarId, user, role) {
      const calendar = store.calendars.get(calendarId)
      if (!calendar) throw new InvalidInput(`There is no calendar ${calendarId}.`)
      const list = requireList(store, user)
      if (role) calendar.roles.set(user.email, role)
      else calendar.roles.delete(user.email)
      if (role && !list.entries.has(calendarId)) subscribe(store, list, calendar, {})
      touchEntries(store, calendar)
    },
    expire(user) {
      const lists = user ? [requireList(store, user)] : [...store.lists.values()]
      for (const list of lists) {
        list.generation += 1
        for (const calendar of calendarsOf(store, list)) calendar.generation += 1
      }
    },
    channels: channels.list,
    configure: given => ({ ...Object.assign(settings, parseInput(SettingsSchema.partial(), given)) }),
    close: channels.close,
  }
}

function requireList(store: Store, user: User): CalendarList {
  const list = store.lists.get(user.email)
  if (!list) throw new InvalidInput(`${user.email} has no calendars.`)
  return list
}

const calendarsOf = (store: Store, { email }: CalendarList): Calendar[] =>
  [...store.calendars.values()].filter(({ owner }) => owner === email)
