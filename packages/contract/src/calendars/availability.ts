import { z } from 'zod'
import { operation } from '../operation.ts'
import { accountPath, emailInput, text, timestamp, timestampInput, uuid, uuidInput } from '../shapes.ts'
import { workingHours } from './working-hours.ts'

const ACCOUNTS_MAX = 50
const ATTENDEES_MAX = 50
const CALENDARS_MAX = 500

const slotMinutes = (description: string) => z.int().min(5).max(1440).default(30).describe(description)
const bufferMinutes = (description: string) => z.int().min(0).max(1440).default(0).describe(description)

const question = {
  start: timestampInput.describe('The beginning of the range, inside the window of the index.'),
  end: timestampInput.describe('The end of the range, at most 62 days later and inside the window.'),
  durationMinutes: slotMinutes('Length of a slot.'),
  stepMinutes: slotMinutes('Minutes from the start of one slot to the start of the next. Slots may overlap.'),
  timeZone: text({ min: 1, max: 64 })
    .optional()
    .describe(
      'IANA name of the zone of `hours`. Without `hours`, slots are counted from its midnights (UTC).',
    ),
  hours: workingHours
    .optional()
    .describe('The hours in which a slot must lie. They need a `timeZone`. Default: all hours.'),
  bufferBeforeMinutes: bufferMinutes('Minutes before a slot that must be free as well.'),
  bufferAfterMinutes: bufferMinutes('Minutes after a slot that must be free as well.'),
  attendees: z
    .array(emailInput)
    .max(ATTENDEES_MAX)
    .default([])
    .describe('Addresses of others who must be free. Their providers are asked now, for at most 10 seconds.'),
  requireAll: z
    .boolean()
    .default(false)
    .describe(
      'Whether no slot is offered while an account or an attendee is unresolved. Otherwise these do not count.',
    ),
  calendarIds: z
    .array(uuidInput)
    .min(1)
    .max(CALENDARS_MAX)
    .optional()
    .describe(
      'Only events of these calendars count. Default, also for an account of which none is named: its primary ' +
        'calendar, and every other calendar that it owns and that is not hidden.',
    ),
  explain: z.boolean().default(false).describe('Whether the answer explains why slots are missing.'),
}

type Question = { hours?: unknown; timeZone?: string | undefined }

/** Refuses hours of which nobody knows in which zone they lie. */
function checkZone({ hours, timeZone }: Question, issues: z.RefinementCtx): void {
  if (hours !== undefined && timeZone === undefined)
    issues.addIssue({ code: 'custom', path: ['timeZone'], message: 'is required beside hours' })
}

const oneQuestion = z.strictObject(question).superRefine(checkZone).meta({ id: 'AvailabilityQuestion' })
/** The question about one account. */
export type AvailabilityQuestion = z.output<typeof oneQuestion>
const manyQuestion = z
  .strictObject({
    ...question,
    accountIds: z.array(uuidInput).min(1).max(ACCOUNTS_MAX).describe('Repeated ids count once.'),
    mode: z
      .enum(['all', 'any'])
      .default('all')
      .describe('Whether all accounts must be free for a slot, or one of them is enough.'),
  })
  .superRefine(checkZone)
  .meta({ id: 'SharedAvailabilityQuestion' })

const timeRange = z
  .object({ start: timestamp, end: timestamp.describe('It does not belong to the range.') })
  .meta({ id: 'TimeRange' })
const busy = z
  .array(timeRange)
  .describe('Busy times within the range, ascending. They do not touch each other.')

const attendeeBusy = z
  .object({
    address: z.string(),
    busy,
    resolved: z.boolean().describe('Whether a provider answered for the address.'),
  })
  .meta({ id: 'AttendeeBusy' })

const countedCalendar = z
  .object({
    calendarId: uuid,
    name: z.string(),
    isCounted: z.boolean(),
    reason: z
      .enum(['named', 'primary', 'owned', 'not_named', 'not_owned', 'hidden'])
      .describe(
        '`named` and `not_named`: whether `calendarIds` has it. Otherwise the primary calendar counts, and those that ' +
          'the account owns, except for hidden ones.',
      ),
  })
  .meta({ id: 'CountedCalendar' })

const refusedSlot = z
  .object({
    start: timestamp,
    end: timestamp,
    reasons: z.array(
      z
        .object({
          code: z
            .enum(['busy', 'buffer', 'outside_hours', 'unresolved'])
            .describe(
              '`busy`: an event overlaps the slot. `buffer`: one overlaps only its buffers. `outside_hours`: the slot ' +
                'does not lie within one range of `hours`. `unresolved`: it is unknown when the account or attendee is busy.',
            ),
          accountId: uuid.nullable().describe('The account that is not free.'),
          address: z.string().nullable().describe('The attendee who is not free.'),
          eventId: uuid.nullable().describe('The first event that is in the way; null for attendees.'),
          start: timestamp.nullable().describe('When that event, or the busy time of the attendee, starts.'),
          end: timestamp.nullable(),
        })
        .meta({ id: 'RefusalReason' }),
    ),
  })
  .meta({ id: 'RefusedSlot' })

const explanation = z
  .object({
    accounts: z.array(
      z
        .object({
          accountId: uuid,
          asOf: timestamp
            .nullable()
            .describe('When the calendars were last proven equal to the provider; null if they never were.'),
          calendars: z.array(countedCalendar),
        })
        .meta({ id: 'ExplainedAccount' }),
    ),
    refused: z
      .array(refusedSlot)
      .describe(
        'Slots of the same grid that are not offered, at most 1,000, of which at most 500 are outside of `hours`, ' +
          'ascending, with the reason of each account and attendee that is not free.',
      ),
    truncated: z
      .boolean()
      .describe('Whether slots that were refused are left out. Then ask for a shorter range.'),
  })
  .meta({ id: 'AvailabilityExplanation' })
export type AvailabilityExplanation = z.infer<typeof explanation>

const answer = {
  attendees: z.array(attendeeBusy).describe('In the order of the request, repeated addresses once.'),
  complete: z
    .boolean()
    .describe(
      'Whether all busy times are known. False while an account or an attendee is unresolved, or if a series of a ' +
        'counted calendar has more occurrences than the index holds.',
    ),
  unresolved: z
    .array(z.string())
    .describe('Ids of the accounts and addresses of the attendees whose busy times are unknown.'),
  truncated: z.boolean().describe('Whether there are more slots. The answer has the first 2,000.'),
  explanation: explanation.optional().describe('Present if `explain` was true.'),
}

export const accountAvailability = z
  .object({ busy, slots: z.array(timeRange), ...answer })
  .meta({ id: 'AccountAvailability' })
export type AccountAvailability = z.infer<typeof accountAvailability>

export const sharedAvailability = z
  .object({
    slots: z.array(
      timeRange
        .extend({
          accountIds: z.array(uuid).describe('The accounts that are free, in the order of the request.'),
        })
        .meta({ id: 'SharedSlot' }),
    ),
    accounts: z
      .array(z.object({ accountId: uuid, busy }).meta({ id: 'AccountBusy' }))
      .describe('In the order of the request, without those that are unresolved.'),
    ...answer,
  })
  .meta({ id: 'SharedAvailability' })
export type SharedAvailability = z.infer<typeof sharedAvailability>

const RULES =
  'Busy are events that are shown as busy, tentative, out of office or unknown, also those of whole days; not those ' +
  'that are free or working elsewhere, cancelled, or declined by the account. Slots start on a grid: at the start of ' +
  'each range of `hours`, or at local midnight, and then every `stepMinutes`. A slot lies within one range of `hours` ' +
  'and within [start, end). Its buffers may reach out of both. '

const REASONS = ['invalid_range', 'invalid_time_zone', 'invalid_working_hours', 'unknown_calendar'] as const

export const availability = {
  find: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/availability/find',
    scope: 'read',
    module: 'calendar',
    accountToken: true,
    summary: 'Find the busy times and free slots of an account.',
    description:
      `${RULES}Read from the index; only attendees are asked live. While the first sync of the calendars is not ` +
      'complete, the account is unresolved and no slot is offered.',
    refuses: [
      'account_not_found',
      'account_paused',
      'account_disabled',
      'account_reauth_required',
      'calendar_disabled',
      ...REASONS,
    ],
    params: accountPath,
    body: oneQuestion,
    output: accountAvailability,
  }),

  findShared: operation({
    method: 'POST',
    path: '/v1/availability/find',
    scope: 'read',
    module: 'calendar',
    summary: 'Find slots in which several accounts are free.',
    description:
      `${RULES}An account that is not active, whose calendars are off, or whose first sync of them is not complete, ` +
      'is unresolved: it is never among the accounts of a slot, and is in the way only with `requireAll`. If all ' +
      'accounts are unresolved, there are no slots. Attendees must be free in both modes.',
    refuses: ['unknown_account', ...REASONS],
    body: manyQuestion,
    output: sharedAvailability,
  }),
}
