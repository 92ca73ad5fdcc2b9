import { z } from 'zod'
import { CHANGING_REASONS } from '../mail/changing-reasons.ts'
import { operation } from '../operation.ts'
import { accountPath, address, collectionOf, pathId, singleLine, text, uuid } from '../shapes.ts'

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

const calendarPath = accountPath.extend({ calendarId: pathId.describe('The calendar’s `id`.') })
const WRITING_REASONS = [...CHANGING_REASONS, 'calendar_disabled'] as const

const name = singleLine({ min: 1, max: 100 }).refine(value => value.trim() !== '', 'must not be blank')

/** The fields of a calendar in a body. Null clears. */
const fields = {
  description: text({ max: 2_000 })
    .refine(
      value => !/[^\P{Cc}\n\r]/u.test(value),
      'must not contain control characters other than line breaks',
    )
    .nullish(),
  color: z
    .string()
    .regex(/^#[0-9a-fA-F]{6}$/, 'must be a color such as #0b8043')
    .nullish(),
  timeZone: singleLine({ min: 1, max: 255 }).nullish().describe('An IANA name.'),
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
    output: collectionOf(calendar),
  }),

  create: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/calendars',
    scope: 'write',
    module: 'calendar',
    accountToken: true,
    audit: 'calendar.create',
    makes: 'calendarId',
    summary: 'Create a calendar.',
    description:
      'Created at the provider, then in the index. What the provider cannot hold is refused with `provider_unsupported`; it ' +
      'may store another color that is near, which is answered.',
    refuses: [...WRITING_REASONS, 'invalid_time_zone'],
    params: accountPath,
    body: z.strictObject({ name, ...fields }),
    output: calendar,
  }),

  update: operation({
    method: 'PATCH',
    path: '/v1/accounts/{accountId}/calendars/{calendarId}',
    scope: 'write',
    module: 'calendar',
    accountToken: true,
    audit: 'calendar.update',
    summary: 'Change a calendar.',
    description: 'Fields that are present change, and null clears them where the provider can.',
    refuses: [...WRITING_REASONS, 'calendar_not_found', 'calendar_read_only', 'invalid_time_zone'],
    params: calendarPath,
    body: z.strictObject({ name: name.optional(), ...fields }),
    output: calendar,
  }),

  delete: operation({
    method: 'DELETE',
    path: '/v1/accounts/{accountId}/calendars/{calendarId}',
    scope: 'write',
    module: 'calendar',
    accountToken: true,
    audit: 'calendar.delete',
    summary: 'Delete a calendar with its events.',
    description:
      '`calendar.deleted` announces it; its events are not announced. Only an owner may, and never the primary calendar.',
    refuses: [...WRITING_REASONS, 'calendar_not_found', 'calendar_primary', 'calendar_read_only'],
    params: calendarPath,
    output: z.null(),
  }),
}
