import { printLine } from '../../../kit/content-lines/print-line.ts'
import { escapeText } from '../../../kit/content-lines/text-value.ts'

const PRODUCT = '-//Waxwing//Calendar//EN'

/**
 * A file with an event that has a UID, and a start that is still to be set.
 * @throws LineRefused if the UID has control characters
 */
export function newEvent(uid: string): Buffer {
  const lines = [
    ['BEGIN', 'VCALENDAR'],
    ['VERSION', '2.0'],
    ['PRODID', PRODUCT],
    ['BEGIN', 'VEVENT'],
    ['UID', escapeText(uid)],
    ['DTSTART;VALUE=DATE', PLACEHOLDER.start],
    ['DTEND;VALUE=DATE', PLACEHOLDER.end],
    ['SEQUENCE', '0'],
    ['END', 'VEVENT'],
    ['END', 'VCALENDAR'],
  ] as const
  return Buffer.concat(
    lines.map(([name, value]) => {
      const [rawName, raw] = name.split(';')
      const parameters = raw === undefined ? [] : [{ name: 'VALUE', values: ['DATE'], raw }]
      return printLine({ rawName: rawName!, parameters, value }, '\r\n')
    }),
  )
}

/** Replaced by the times of the event. */
const PLACEHOLDER = { start: '19000101', end: '19000102' }
