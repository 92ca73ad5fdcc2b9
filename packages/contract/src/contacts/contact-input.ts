import { z } from 'zod'
import { emailInput, singleLine, text } from '../shapes.ts'

/** The most addresses, and the most numbers, of one contact. */
const VALUES_MAX = 20
/** February has 29 days in a year that is not given. */
const LEAP_YEAR = 2000

export const emailType = z.enum(['home', 'work', 'other'])
export const phoneType = z.enum(['mobile', 'home', 'work', 'main', 'fax', 'pager', 'other'])

/** `YYYY-MM-DD`, or `--MM-DD` without a year. */
export const birthday = z.string().regex(/^(\d{4}-|--)\d{2}-\d{2}$/)

const name = singleLine({ min: 1, max: 256 }).nullish()

const birthdayInput = birthday.refine(isDay, 'must be a day of the calendar')

function isDay(value: string): boolean {
  const [, year, month, day] = /^(?:(\d{4})-|--)(\d{2})-(\d{2})$/.exec(value) ?? []
  const date = new Date(0)
  date.setUTCFullYear(year === undefined ? LEAP_YEAR : Number(year), Number(month) - 1, Number(day))
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
}

/** The fields of a contact in a body: absent ones stay, and null clears. */
export const contactFields = {
  displayName: name,
  givenName: name,
  middleName: name,
  familyName: name,
  nickname: name,
  organization: name,
  jobTitle: name,
  department: name,
  emails: z
    .array(z.strictObject({ address: emailInput, type: emailType.default('other') }))
    .max(VALUES_MAX)
    .nullish(),
  phones: z
    .array(
      z.strictObject({
        number: singleLine({ min: 1, max: 256 }).refine(value => value.trim() !== '', 'must not be blank'),
        type: phoneType.default('other'),
      }),
    )
    .max(VALUES_MAX)
    .nullish(),
  birthday: birthdayInput.nullish().describe('`--MM-DD` without a year.'),
  notes: text({ max: 10_000 })
    .refine(
      value => !/[^\P{Cc}\n\r]/u.test(value),
      'must not contain control characters other than line breaks',
    )
    .nullish(),
}
