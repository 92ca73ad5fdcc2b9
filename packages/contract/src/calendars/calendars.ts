import { z } from 'zod'
import { operation } from '../operation.ts'
import { accountPath, address, uuid } from '../shapes.ts'

export const calendar = z
  .object({
    id: uuid,
    name: z.string(),
    description: z.string().nullable(),
    owner: address.nullable(),
    isPrimary: z.boolean(),
    access: z.enum(['owner', 'writer', 'reader', 'freebusy']).describe('Access of the account to it.'),
    canEdit: z.boolean().describe('Whether events can be written to it.'),
    color: z
      .string()
      .regex(/^#[0-9a-fA-F]{6}$/)
      .nullable(),
    timeZone: z.string().nullable().describe('An IANA name.'),
    isHidden: z.boolean(),
  })
  .meta({ id: 'Calendar' })
export type Calendar = z.infer<typeof calendar>

/** The values of `changes` in `calendar.updated`. */
export const calendarChange = calendar.omit({ id: true }).keyof()
export type CalendarChange = z.infer<typeof calendarChange>

/** What the events `calendar.*` announce. */
export const announcedCalendars = {
  'calendar.initialized': z.object({ calendars: z.int(), events: z.int() }),
  'calendar.created': z.object({ calendar }),
  'calendar.updated': z.object({ calendar, changes: z.array(calendarChange) }),
  'calendar.deleted': z.object({ calendar: calendar.describe('As last indexed.') }),
}

export const calendars = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/calendars',
    scope: 'read',
    module: 'calendar',
    accountToken: true,
    summary: 'List the calendars of an account.',
    description: 'Returns all calendars in one answer, the primary one first, hidden ones too.',
    refuses: ['account_not_found', 'calendar_disabled'],
    params: accountPath,
    output: z.object({ items: z.array(calendar) }),
  }),
}
