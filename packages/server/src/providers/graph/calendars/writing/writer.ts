import type { CalendarsWriter } from '../../../changing-calendars.ts'
import type { CalendarsConnection } from '../calendars-connection.ts'
import { changeCalendar, createCalendar, removeCalendar } from './calendars.ts'
import { changeEvent, requireChangeable } from './change.ts'
import { createEvent, findCreated } from './create.ts'
import { moveEvent } from './move.ts'
import { removeEvent } from './remove.ts'
import { respond } from './respond.ts'

/** Changes the calendars of a mailbox of Microsoft Graph. */
export const graphCalendarsWriter = (connection: CalendarsConnection): CalendarsWriter => ({
  createCalendar: calendar => createCalendar(connection, calendar),
  changeCalendar: (key, change) => changeCalendar(connection, key, change),
  removeCalendar: key => removeCalendar(connection, key),
  // Exchange itself sends invitations and responses.
  tellsPeople: () => Promise.resolve(true),
  createEvent: (event, options) => createEvent(connection, event, options),
  changeEvent: (asked, options) => changeEvent(connection, asked, options),
  requireChangeable: (asked, options) => requireChangeable(connection, asked, options),
  removeEvent: (asked, options) => removeEvent(connection, asked, options),
  moveEvent: (asked, options) => moveEvent(connection, asked, options),
  respond: (asked, options) => respond(connection, asked, options),
  findCreated: (asked, signal) => findCreated(connection, asked, { signal }),
})
