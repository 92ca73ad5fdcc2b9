import { z } from 'zod'

const RANGES_MAX = 20

const timeOfDay = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as 09:00')
const endOfDay = z
  .string()
  .regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, 'must be a time such as 17:30, or 24:00')

const rangesOfDay = z
  .array(
    z.strictObject({
      start: timeOfDay.describe('`HH:MM`.'),
      end: endOfDay.describe('`HH:MM`, after `start`. `24:00` is the end of the day.'),
    }),
  )
  .max(RANGES_MAX)
  .optional()

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** Whether the ranges of a day overlap is checked later, with `invalid_working_hours`. */
export const workingHours = z
  .strictObject({
    mon: rangesOfDay,
    tue: rangesOfDay,
    wed: rangesOfDay,
    thu: rangesOfDay,
    fri: rangesOfDay,
    sat: rangesOfDay,
    sun: rangesOfDay,
  })
  .meta({
    id: 'WorkingHours',
    description:
      'The open hours of each weekday, at most 20 ranges a day. A day without its key is closed. Ranges of one day may ' +
      'not overlap. Ranges that touch are one range, also over midnight.',
  })
export type WorkingHours = z.infer<typeof workingHours>
