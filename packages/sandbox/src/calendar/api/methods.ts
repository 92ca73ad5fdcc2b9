import { openRoutes } from '../../google/api/routes.ts'
import { calendarListMethods } from './calendar-list.ts'
import { calendarMethods } from './calendars.ts'
import { eventWriteMethods } from './event-writes.ts'
import { eventMethods } from './events.ts'
import { freeBusyMethods } from './free-busy.ts'
import type { CalendarMethod } from './method.ts'
import { settingsMethods } from './settings-methods.ts'
import { watchMethods } from './watch.ts'

/** Every method that this Calendar API has. */
export const METHODS: readonly CalendarMethod[] = [
  ...calendarListMethods,
  ...calendarMethods,
  ...eventMethods,
  ...eventWriteMethods,
  ...watchMethods,
  ...freeBusyMethods,
  ...settingsMethods,
]

/** The method of a path below /calendar/v3/, or null. */
export const findMethod = openRoutes(METHODS)
