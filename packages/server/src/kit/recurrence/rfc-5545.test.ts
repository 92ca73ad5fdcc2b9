import { describe, expect, test } from 'vitest'
import { expand } from './expand.ts'

/* The examples of RFC 5545 section 3.8.5.3, in its order. Examples without an end are compared up to the last date given. */

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const two = (number: number) => `${number}`.padStart(2, '0')

/** Wall clocks of dates that are written as in `1997 Sep 2,4-6; Oct 1; 1998 Jan 2`, at each of these times. */
function datesOf(text: string, times: readonly string[] = ['090000']): string[] {
  let year = ''
  return text.split('; ').flatMap(part => {
    const [, newYear, month = '', days = ''] = /^(?:(\d{4}) )?([A-Z][a-z]{2}) (.*)$/.exec(part)!
    year = newYear ?? year
    return days.split(',').flatMap(range => {
      const [first = 0, last = first] = range.split('-').map(Number)
      return Array.from({ length: last - first + 1 }, (_, index) => first + index).flatMap(day =>
        times.map(time => `${year}${two(MONTHS.indexOf(month) + 1)}${two(day)}T${time}`),
      )
    })
  })
}

const years = (from: number, to: number, step: number, days: string) =>
  Array.from({ length: (to - from) / step + 1 }, (_, index) => `${from + index * step} ${days}`).join('; ')
const odd = (last: number) =>
  Array.from({ length: Math.ceil(last / 2) }, (_, index) => 1 + index * 2).join(',')
const even = (last: number) => Array.from({ length: last / 2 }, (_, index) => 2 + index * 2).join(',')

const JANUARIES = years(1998, 2000, 1, 'Jan 1-31')
const TUESDAYS = '1997 Sep 2,9,16,23,30; Oct 7,14,21,28; Nov 4'
const TUESDAYS_AND_THURSDAYS = '1997 Sep 2,4,9,11,16,18,23,25,30; Oct 2'
const TWENTIES = [9, 10, 11, 12, 13, 14, 15, 16].flatMap(hour =>
  ['00', '20', '40'].map(minute => `${two(hour)}${minute}00`),
)

/** The rule, the day of DTSTART, and the dates. */
const EXAMPLES: ReadonlyArray<
  readonly [rule: string, start: string, dates: string, times?: readonly string[]]
> = [
  ['FREQ=DAILY;COUNT=10', '19970902', '1997 Sep 2-11'],
  ['FREQ=DAILY;UNTIL=19971224T000000Z', '19970902', '1997 Sep 2-30; Oct 1-31; Nov 1-30; Dec 1-23'],
  [
    'FREQ=DAILY;INTERVAL=2',
    '19970902',
    `1997 Sep ${even(30)}; Oct ${even(30)}; Nov ${odd(29)}; Dec ${odd(31)}`,
  ],
  ['FREQ=DAILY;INTERVAL=10;COUNT=5', '19970902', '1997 Sep 2,12,22; Oct 2,12'],
  ['FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA', '19980101', JANUARIES],
  ['FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1', '19980101', JANUARIES],
  ['FREQ=WEEKLY;COUNT=10', '19970902', TUESDAYS],
  ['FREQ=WEEKLY;UNTIL=19971224T000000Z', '19970902', `${TUESDAYS},11,18,25; Dec 2,9,16,23`],
  [
    'FREQ=WEEKLY;INTERVAL=2;WKST=SU',
    '19970902',
    '1997 Sep 2,16,30; Oct 14,28; Nov 11,25; Dec 9,23; 1998 Jan 6,20; Feb 3,17',
  ],
  ['FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH', '19970902', TUESDAYS_AND_THURSDAYS],
  ['FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH', '19970902', TUESDAYS_AND_THURSDAYS],
  [
    'FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR',
    '19970901',
    '1997 Sep 1,3,5,15,17,19,29; Oct 1,3,13,15,17,27,29,31; Nov 10,12,14,24,26,28; Dec 8,10,12,22',
  ],
  ['FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH', '19970902', '1997 Sep 2,4,16,18,30; Oct 2,14,16'],
  [
    'FREQ=MONTHLY;COUNT=10;BYDAY=1FR',
    '19970905',
    '1997 Sep 5; Oct 3; Nov 7; Dec 5; 1998 Jan 2; Feb 6; Mar 6; Apr 3; May 1; Jun 5',
  ],
  ['FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR', '19970905', '1997 Sep 5; Oct 3; Nov 7; Dec 5'],
  [
    'FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU',
    '19970907',
    '1997 Sep 7,28; Nov 2,30; 1998 Jan 4,25; Mar 1,29; May 3,31',
  ],
  ['FREQ=MONTHLY;COUNT=6;BYDAY=-2MO', '19970922', '1997 Sep 22; Oct 20; Nov 17; Dec 22; 1998 Jan 19; Feb 16'],
  ['FREQ=MONTHLY;BYMONTHDAY=-3', '19970928', '1997 Sep 28; Oct 29; Nov 28; Dec 29; 1998 Jan 29; Feb 26'],
  [
    'FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15',
    '19970902',
    '1997 Sep 2,15; Oct 2,15; Nov 2,15; Dec 2,15; 1998 Jan 2,15',
  ],
  [
    'FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1',
    '19970930',
    '1997 Sep 30; Oct 1,31; Nov 1,30; Dec 1,31; 1998 Jan 1,31; Feb 1',
  ],
  [
    'FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15',
    '19970910',
    '1997 Sep 10-15; 1999 Mar 10-13',
  ],
  [
    'FREQ=MONTHLY;INTERVAL=2;BYDAY=TU',
    '19970902',
    '1997 Sep 2,9,16,23,30; Nov 4,11,18,25; 1998 Jan 6,13,20,27; Mar 3,10,17,24,31',
  ],
  ['FREQ=YEARLY;COUNT=10;BYMONTH=6,7', '19970610', years(1997, 2001, 1, 'Jun 10; Jul 10')],
  [
    'FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3',
    '19970310',
    `1997 Mar 10; ${years(1999, 2003, 2, 'Jan 10; Feb 10; Mar 10')}`,
  ],
  [
    'FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200',
    '19970101',
    '1997 Jan 1; Apr 10; Jul 19; 2000 Jan 1; Apr 9; Jul 18; 2003 Jan 1; Apr 10; Jul 19; 2006 Jan 1',
  ],
  ['FREQ=YEARLY;BYDAY=20MO', '19970519', '1997 May 19; 1998 May 18; 1999 May 17'],
  ['FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO', '19970512', '1997 May 12; 1998 May 11; 1999 May 17'],
  [
    'FREQ=YEARLY;BYMONTH=3;BYDAY=TH',
    '19970313',
    '1997 Mar 13,20,27; 1998 Mar 5,12,19,26; 1999 Mar 4,11,18,25',
  ],
  [
    'FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8',
    '19970605',
    '1997 Jun 5,12,19,26; Jul 3,10,17,24,31; Aug 7,14,21,28; 1998 Jun 4,11,18,25; Jul 2,9,16,23,30; Aug 6,13,20,27; 1999 Jun 3,10,17,24; Jul 1,8,15,22,29; Aug 5,12,19,26',
  ],
  // The example has an EXDATE for its start, which is no Friday.
  [
    'FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13',
    '19970902',
    '1997 Sep 2; 1998 Feb 13; Mar 13; Nov 13; 1999 Aug 13; 2000 Oct 13',
  ],
  [
    'FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13',
    '19970913',
    '1997 Sep 13; Oct 11; Nov 8; Dec 13; 1998 Jan 10; Feb 7; Mar 7; Apr 11; May 9; Jun 13',
  ],
  [
    'FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8',
    '19961105',
    '1996 Nov 5; 2000 Nov 7; 2004 Nov 2',
  ],
  ['FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3', '19970904', '1997 Sep 4; Oct 7; Nov 6'],
  [
    'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2',
    '19970929',
    '1997 Sep 29; Oct 30; Nov 27; Dec 30; 1998 Jan 29; Feb 26; Mar 30',
  ],
  // "Every 3 hours from 9:00 AM to 5:00 PM": the UNTIL of the RFC is 17:00 in UTC, which is 13:00 in New York.
  ['FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z', '19970902', '1997 Sep 2', ['090000', '120000', '150000']],
  ['FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000Z', '19970902', '1997 Sep 2', ['090000', '120000']],
  [
    'FREQ=MINUTELY;INTERVAL=15;COUNT=6',
    '19970902',
    '1997 Sep 2',
    ['090000', '091500', '093000', '094500', '100000', '101500'],
  ],
  ['FREQ=MINUTELY;INTERVAL=90;COUNT=4', '19970902', '1997 Sep 2', ['090000', '103000', '120000', '133000']],
  ['FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40', '19970902', '1997 Sep 2-4', TWENTIES],
  ['FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16', '19970902', '1997 Sep 2-4', TWENTIES],
  ['FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO', '19970805', '1997 Aug 5,10,19,24'],
  ['FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU', '19970805', '1997 Aug 5,17,19,31'],
  ['FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5', '20070115', '2007 Jan 15,30; Feb 15; Mar 15,30'],
]

const CASES = EXAMPLES.map(([rule, day, dates, times]) => ({
  rule,
  start: { wall: `${day}T090000`, zone: 'America/New_York' },
  dates: datesOf(dates, times),
}))

describe('the examples of RFC 5545', () => {
  test.each(CASES)('$rule from $start.wall', ({ rule, start, dates }) => {
    // Without an end, the second after the last date is the end.
    const to = /COUNT|UNTIL/.test(rule) ? '20300101' : `${dates.at(-1)!.slice(0, -1)}1`
    const { members, isTruncated } = expand({ lines: [`RRULE:${rule}`], start, from: '19960101', to })
    expect(members.map(({ wall }) => wall)).toEqual(dates)
    expect(isTruncated).toBe(false)
  })

  test.each(CASES)(
    '$rule from $start.wall has the same members in a later window',
    ({ rule, start, dates }) => {
      const later = dates.slice(Math.floor(dates.length / 2))
      const to = `${dates.at(-1)!.slice(0, -1)}1`
      const { members } = expand({ lines: [`RRULE:${rule}`], start, from: later[0]!, to })
      expect(members.map(({ wall }) => wall)).toEqual(later)
    },
  )
})
