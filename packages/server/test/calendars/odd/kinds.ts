import { type Manner, MANNERS } from './manners.ts'

/* Kinds of events, which each program writes in its manner. The account is ada@example.com. */

interface Kind {
  /** Lines of each component. `@` stands before a time in the zone of the program, which comes behind the name of its property. */
  events: ReadonlyArray<readonly string[]>
}

const LENGTH = { '@DTEND': 'DURATION:PT1H30M' } as const

const KINDS = {
  single: {
    events: [
      [
        '@DTSTART:20261201T090000',
        '@DTEND:20261201T103000',
        'SUMMARY:Zahnarzt\\, „gleich“',
        'LOCATION:Room 5\\; upstairs',
        'SEQUENCE:1',
      ],
    ],
  },
  'weekly series with an exception': {
    events: [
      [
        '@DTSTART:20261201T090000',
        '@DTEND:20261201T103000',
        'RRULE:FREQ=WEEKLY;COUNT=8',
        '@EXDATE:20261208T090000',
        'SUMMARY:Weekly',
        'LOCATION:Café Einstein\\nBerlin',
        'SEQUENCE:2',
      ],
      [
        '@RECURRENCE-ID:20261222T090000',
        '@DTSTART:20261222T110000',
        '@DTEND:20261222T123000',
        'SUMMARY:Once',
        'LOCATION:Café Einstein\\nBerlin',
        'SEQUENCE:2',
      ],
    ],
  },
  'series of days': {
    events: [
      [
        'DTSTART;VALUE=DATE:20261201',
        'DTEND;VALUE=DATE:20261202',
        'RRULE:FREQ=MONTHLY;BYDAY=1TU;COUNT=6',
        'EXDATE;VALUE=DATE:20270105',
        'SUMMARY:Inventur 📦',
        'TRANSP:TRANSPARENT',
      ],
    ],
  },
  'series with added dates': {
    events: [
      [
        '@DTSTART:20261201T090000',
        '@DTEND:20261201T103000',
        'RRULE:FREQ=DAILY;INTERVAL=3;COUNT=5',
        '@RDATE:20261224T180000,20261231T230000',
        '@EXDATE:20261204T090000,20261207T090000',
        'SUMMARY:Dates',
      ],
    ],
  },
  'invitation of the account': {
    events: [
      [
        '@DTSTART:20261201T090000',
        '@DTEND:20261201T103000',
        'SUMMARY:Review',
        'STATUS:CONFIRMED',
        'SEQUENCE:4',
        'ORGANIZER;CN="Lovelace, Ada":mailto:ada@example.com',
        'ATTENDEE;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;CN="Lovelace, Ada";X-NUM-GUESTS=0:mailto:ada@example.com',
        'ATTENDEE;ROLE=OPT-PARTICIPANT;PARTSTAT=DECLINED;RSVP=TRUE;CN=Грейс;X-RESPONSE-COMMENT="Sorry, no":MAILTO:grace@example.com',
        'ATTENDEE;CUTYPE=ROOM;PARTSTAT=ACCEPTED;CN=Room 5:mailto:room5@example.com',
      ],
    ],
  },
  'series of somebody else': {
    events: [
      [
        '@DTSTART:20261201T090000',
        '@DTEND:20261201T103000',
        'RRULE:FREQ=WEEKLY;COUNT=6',
        'SUMMARY:Jour fixe',
        'SEQUENCE:7',
        'ORGANIZER;CN=Boss;SENT-BY="mailto:office@example.com":mailto:boss@example.com',
        'ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE;CN=Ada:mailto:ada@example.com',
        'ATTENDEE;PARTSTAT=TENTATIVE;DELEGATED-FROM="mailto:x@example.com":mailto:kurt@example.com',
        'COMMENT:Please be there',
      ],
    ],
  },
} satisfies Record<string, Kind>

/** The file of a kind as a program writes it. */
function fileOf(manner: Manner, { events }: Kind): Buffer {
  const components = events.map(lines => {
    const own = lines.map(line =>
      timeOf(manner.hasDuration && line.startsWith('@DTEND') ? LENGTH['@DTEND'] : line, manner),
    )
    const all = [
      'DTSTAMP:20261015T081118Z',
      'LAST-MODIFIED:20261015T081118Z',
      ...own,
      ...missing(own, manner.extras),
    ]
    const sorted = manner.isSorted ? all.toSorted() : all
    return [
      'BEGIN:VEVENT',
      'UID:7b4b9d3e-38a8-4d5f-9a6e-2f2b0a0d9c11',
      ...sorted,
      ...manner.alarm,
      'END:VEVENT',
    ]
  })
  const zone = manner.zone === null ? [] : manner.zone.split('\r\n')
  const lines = [
    'BEGIN:VCALENDAR',
    ...manner.head,
    ...(manner.isZoneLast ? [] : zone),
    ...components.flat(),
    ...(manner.isZoneLast ? zone : []),
    'END:VCALENDAR',
  ]
  const cased = manner.isLower
    ? lines.map(line => line.replace(/^[A-Z-]+/, name => name.toLowerCase()))
    : lines
  return Buffer.from(cased.map(line => fold(line, manner) + manner.ending).join(''), 'latin1')
}

/** Lines of a program whose properties the event does not have itself. */
function missing(own: readonly string[], extras: readonly string[]): string[] {
  const names = new Set(own.map(nameOf))
  return extras.filter(line => !names.has(nameOf(line)))
}

const nameOf = (line: string): string => line.split(/[;:]/, 1)[0]!

function timeOf(line: string, { tzid, isQuoted }: Manner): string {
  if (!line.startsWith('@')) return line
  const [name, values = ''] = line.slice(1).split(':')
  if (tzid !== null) return `${name};TZID=${isQuoted ? `"${tzid}"` : tzid}:${values}`
  return `${name}:${values
    .split(',')
    .map(value => `${value}Z`)
    .join(',')}`
}

/** Folds at bytes, also within characters. The text has a character for each byte. */
function fold(text: string, { fold: width, blank = ' ', ending }: Manner): string {
  const line = Buffer.from(text).toString('latin1')
  const pieces: string[] = []
  const room = width === null ? line.length : width - 1
  for (let start = 0; start < line.length; start += room) pieces.push(line.slice(start, start + room))
  return pieces.join(ending + blank)
}

/** Names with files: each kind by each program. */
export const ODD_FILES: ReadonlyArray<readonly [string, Buffer]> = Object.entries(MANNERS).flatMap(
  ([program, manner]) =>
    Object.entries(KINDS).map(([kind, events]) => [`${kind} of ${program}`, fileOf(manner, events)] as const),
)
