import { type ContentLine, parameterOf } from '../../../kit/content-lines/content-line.ts'
import type { Parameter } from '../../../kit/content-lines/content-line.ts'
import { makeParameter } from '../../../kit/content-lines/print-line.ts'
import type { CardVersion } from './card.ts'

/** A date with or without a year, in the basic or extended form, and a time after it (RFC 6350 section 4.3). */
const DATE = /^(?:(\d{4})-?|--)(\d\d)-?(\d\d)(?:[T ][\d:.,]+(?:Z|[+-][\d:]+)?|Z)?$/i
/** Apple's parameter of a date whose year means nothing, with that year. */
const OMITTED_YEAR = 'X-APPLE-OMIT-YEAR'
/** A leap year. Apple writes it in place of none. */
const NO_YEAR = '1604'
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** The birthday as `YYYY-MM-DD` or `--MM-DD`; null if the value is a text, or a date without a month and day. */
export function readBirthday(line: ContentLine): string | null {
  const [, year, month, day] = DATE.exec(line.value.trim().slice(0, 100)) ?? []
  if (month === undefined || day === undefined) return null
  const isOmitted = year === undefined || parameterOf(line, OMITTED_YEAR) === year
  return isDay(isOmitted ? NO_YEAR : year, month, day) ? `${isOmitted ? '-' : year}-${month}-${day}` : null
}

function isDay(year: string, month: string, day: string): boolean {
  const days = DAYS[Number(month) - 1]
  if (days === undefined || Number(day) < 1 || Number(day) > days || year === '0000') return false
  const isLeap = Number(year) % 4 === 0 && (Number(year) % 100 !== 0 || Number(year) % 400 === 0)
  return month !== '02' || day !== '29' || isLeap
}

/**
 * The value and parameters of a birthday. vCard 3 has no date without a year, so it is written as Apple writes it.
 * @param kept the parameters of the former line
 */
export function writeBirthday(
  birthday: string,
  version: CardVersion,
  kept: readonly Parameter[],
): { value: string; parameters: Parameter[] } {
  const parameters = kept.filter(
    ({ name, values }) =>
      name !== OMITTED_YEAR &&
      (name !== 'VALUE' || values[0]?.toLowerCase() === 'date') &&
      (name !== 'CALSCALE' || values[0]?.toLowerCase() === 'gregorian'),
  )
  if (version === '4.0') {
    const basic = birthday.startsWith('--')
      ? `--${birthday.slice(2).replace('-', '')}`
      : birthday.replaceAll('-', '')
    return { value: basic, parameters }
  }
  if (!birthday.startsWith('--')) return { value: birthday, parameters }
  return {
    value: `${NO_YEAR}${birthday.slice(1)}`,
    parameters: [...parameters, makeParameter(OMITTED_YEAR, [NO_YEAR])],
  }
}
