import { describe, expect, test } from 'vitest'
import { printRecurrence, printTimes } from './print-times.ts'
import { printTexts } from './print-texts.ts'
import type { Message } from './plan-messages.ts'

const START = { wall: '20261130T120000', zone: 'Europe/Berlin' }

describe('times in words', () => {
  const time = (wall: string, zone: string | null = 'Europe/Berlin') => ({ wall, zone })
  test.each([
    [START, time('20261130T130000'), 'Monday, 30 November 2026, 12:00 to 13:00 (Europe/Berlin)'],
    [
      START,
      time('20261201T010000'),
      'Monday, 30 November 2026, 12:00 to Tuesday, 1 December 2026, 01:00 (Europe/Berlin)',
    ],
    [START, time('20261130T130000', 'UTC'), 'Monday, 30 November 2026, 12:00 (Europe/Berlin) to 13:00 (UTC)'],
    [time('20261130', null), time('20261201', null), 'Monday, 30 November 2026'],
    [time('20261130', null), time('20261202', null), 'Monday, 30 November 2026 to Tuesday, 1 December 2026'],
  ])('%j to %j', (start, end, words) => expect(printTimes({ start, end })).toBe(words))
})

test.each([
  ['RRULE:FREQ=DAILY;INTERVAL=2;COUNT=10', 'every 2 days, 10 times'],
  ['RRULE:FREQ=WEEKLY;BYDAY=MO,WE,FR', 'every week on Monday, Wednesday and Friday'],
  [
    'RRULE:FREQ=MONTHLY;BYDAY=2TU;UNTIL=20270131T225959Z',
    'every month on the second Tuesday, until Sunday, 31 January 2027',
  ],
  ['RRULE:FREQ=MONTHLY;BYMONTHDAY=15', 'every month on day 15'],
  ['RRULE:FREQ=YEARLY', 'every year'],
  ['RRULE:FREQ=MONTHLY;BYDAY=MO;BYSETPOS=1', null],
])('%s in words', (line, words) => expect(printRecurrence([line], START)).toBe(words))

test('the words of a mail have no markup of the event', () => {
  const message: Message = {
    method: 'REQUEST',
    uid: 'x',
    member: null,
    isNew: true,
    from: { name: null, address: 'ada@example.com' },
    to: [],
    components: [
      {
        uid: 'x',
        recurrenceId: null,
        sequence: 0,
        stamp: new Date(0),
        start: START,
        end: START,
        recurrence: [],
        excluded: [],
        organizer: { name: 'Ada', address: 'ada@example.com' },
        attendees: [],
        subject: '<b>Lunch</b>\r\nBcc: eve@example.com',
        location: null,
        body: null,
        meetingUrl: 'javascript:alert(1)',
        status: 'confirmed',
        isPrivate: false,
        comment: null,
      },
    ],
  }
  const { subject, text, html } = printTexts(message, '<script>Soup</script>')
  expect(subject).toBe('Invitation: <b>Lunch</b> Bcc: eve@example.com')
  expect(text).toContain('Soup')
  expect(html).not.toMatch(/<b>|<script|href/)
})
