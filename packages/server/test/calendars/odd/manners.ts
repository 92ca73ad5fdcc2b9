import { BERLIN } from '../../servers/event-text.ts'

/* The ways in which programs write calendar files, each of which writes every kind of event of `kinds.ts`. */

export interface Manner {
  /** Lines of the calendar before its components. */
  head: readonly string[]
  /** By which it names Europe/Berlin. Null: it writes times in UTC. */
  tzid: string | null
  /** The definition of its zone; null if it has none. */
  zone: string | null
  /** Whether the definition comes behind the events. */
  isZoneLast?: boolean
  /** Whether TZID is quoted. */
  isQuoted?: boolean
  /** Whether names are in lower case. */
  isLower?: boolean
  /** Whether lines are in the order of their names. */
  isSorted?: boolean
  /** Bytes of a physical line; null: it folds none. */
  fold: number | null
  /** The blank of a continuation. */
  blank?: ' ' | '\t'
  ending: '\r\n' | '\n'
  /** Lines that it adds to an event. */
  extras: readonly string[]
  /** Whether it writes DURATION in place of DTEND. */
  hasDuration?: boolean
  alarm: readonly string[]
}

const BERLIN_AS = (tzid: string) => BERLIN.replace('TZID:Europe/Berlin', `TZID:${tzid}`)
const alarmOf = (...lines: string[]) => ['BEGIN:VALARM', ...lines, 'END:VALARM']
const DISPLAY = alarmOf('ACTION:DISPLAY', 'DESCRIPTION:Reminder', 'TRIGGER:-PT15M')
const CUSTOM = '(GMT+01.00) Amsterdam / Berlin / Bern'
const WINDOWS = 'W. Europe Standard Time'

export const MANNERS = {
  'Apple Calendar': {
    head: ['VERSION:2.0', 'CALSCALE:GREGORIAN', 'PRODID:-//Apple Inc.//macOS 15.1//EN'],
    tzid: 'Europe/Berlin',
    zone: BERLIN,
    fold: 75,
    ending: '\r\n',
    extras: [
      'CREATED:20261015T081112Z',
      'X-APPLE-TRAVEL-ADVISORY-BEHAVIOR:AUTOMATIC',
      'X-APPLE-STRUCTURED-LOCATION;VALUE=URI;X-ADDRESS="Kurfürstenstraße 58, 10785 Berlin";X-TITLE="Café":geo:52.5,13.3',
      'X-APPLE-CREATOR-IDENTITY:com.apple.calendar',
    ],
    alarm: alarmOf(
      'X-WR-ALARMUID:0C1D2E3F-1111',
      'UID:0C1D2E3F-1111',
      'TRIGGER:-PT15M',
      'ATTACH;VALUE=URI:Chord',
      'ACTION:AUDIO',
    ),
  },
  'iOS with a default alarm': {
    head: ['CALSCALE:GREGORIAN', 'PRODID:-//Apple Inc.//iPhone OS 18.1//EN', 'VERSION:2.0'],
    tzid: 'Europe/Berlin',
    zone: BERLIN,
    isSorted: true,
    fold: 75,
    ending: '\r\n',
    extras: ['X-APPLE-DEFAULT-ALARM:TRUE', 'URL;VALUE=URI:https://example.com/a?b=1'],
    alarm: alarmOf('X-APPLE-DEFAULT-ALARM:TRUE', 'TRIGGER;VALUE=DATE-TIME:19760401T005545Z', 'ACTION:NONE'),
  },
  'Google Calendar': {
    head: ['PRODID:-//Google Inc//Google Calendar 70.9054//EN', 'VERSION:2.0', 'X-WR-TIMEZONE:Europe/Berlin'],
    tzid: 'Europe/Berlin',
    zone: BERLIN.replace('BEGIN:DAYLIGHT', 'X-LIC-LOCATION:Europe/Berlin\r\nBEGIN:DAYLIGHT'),
    fold: 75,
    ending: '\r\n',
    extras: ['X-GOOGLE-CONFERENCE:https://meet.google.com/abc-defg-hij', 'TRANSP:OPAQUE'],
    alarm: alarmOf(
      'ACTION:EMAIL',
      'SUMMARY:Alarm',
      'ATTENDEE:mailto:ada@example.com',
      'TRIGGER:-P0DT0H30M0S',
    ),
  },
  'Outlook for Windows': {
    head: ['PRODID:-//Microsoft Corporation//Outlook 16.0 MIMEDIR//EN', 'VERSION:2.0', 'METHOD:PUBLISH'],
    tzid: WINDOWS,
    zone: BERLIN_AS(WINDOWS),
    isQuoted: true,
    fold: 75,
    blank: '\t',
    ending: '\r\n',
    extras: [
      'CLASS:PRIVATE',
      'PRIORITY:5',
      'X-ALT-DESC;FMTTYPE=text/html:<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2//EN"><HTML><BODY>\\n<P>Plain</P></BODY></HTML>',
      'X-MICROSOFT-CDO-BUSYSTATUS:OOF',
      'X-MICROSOFT-CDO-IMPORTANCE:1',
    ],
    alarm: DISPLAY,
  },
  Exchange: {
    head: ['METHOD:REQUEST', 'PRODID:Microsoft Exchange Server 2010', 'VERSION:2.0'],
    tzid: WINDOWS,
    zone: BERLIN_AS(WINDOWS),
    fold: 75,
    ending: '\r\n',
    extras: [
      'DESCRIPTION;LANGUAGE=de-DE:Zeile eins\\n\\nZeile zwei\\n',
      'X-MICROSOFT-CDO-APPT-SEQUENCE:3',
      'X-MICROSOFT-CDO-OWNERAPPTID:2121212121',
      'X-MICROSOFT-CDO-BUSYSTATUS:TENTATIVE',
      'X-MICROSOFT-CDO-INTENDEDSTATUS:BUSY',
      'X-MICROSOFT-DISALLOW-COUNTER:FALSE',
    ],
    alarm: alarmOf('DESCRIPTION:REMINDER', 'TRIGGER;RELATED=START:-PT15M', 'ACTION:DISPLAY'),
  },
  'Outlook on the web': {
    head: ['PRODID:Microsoft CDO for Microsoft Exchange', 'VERSION:2.0'],
    tzid: 'tzone://Microsoft/Custom',
    zone: BERLIN_AS('tzone://Microsoft/Custom'),
    isQuoted: true,
    fold: 75,
    ending: '\r\n',
    extras: [
      'X-MICROSOFT-SKYPETEAMSMEETINGURL:https://teams.microsoft.com/l/meetup-join/19%3ameeting/0',
      'X-MICROSOFT-SKYPETEAMSPROPERTIES:{"cid":"19:meeting"\\,"rid":0}',
    ],
    alarm: DISPLAY,
  },
  Thunderbird: {
    head: ['PRODID:-//Mozilla.org/NONSGML Mozilla Calendar V1.1//EN', 'VERSION:2.0'],
    tzid: 'Europe/Berlin',
    zone: BERLIN,
    hasDuration: true,
    fold: 75,
    ending: '\r\n',
    extras: [
      'X-MOZ-GENERATION:4',
      'X-MOZ-LASTACK:20261015T081300Z',
      'DESCRIPTION;ALTREP="data:text/html,Bitte%20%3Cb%3Ep%C3%BCnktlich%3C%2Fb%3E":Bitte pünktlich',
    ],
    alarm: alarmOf('ACTION:DISPLAY', 'TRIGGER;VALUE=DURATION:-PT1H', 'DESCRIPTION:Mozilla'),
  },
  Nextcloud: {
    head: ['CALSCALE:GREGORIAN', 'VERSION:2.0', 'PRODID:-//IDN nextcloud.com//Calendar app 4.7.16//EN'],
    tzid: 'Europe/Berlin',
    zone: BERLIN,
    isZoneLast: true,
    fold: 75,
    ending: '\r\n',
    extras: [
      'COLOR:deepskyblue',
      'CONFERENCE;FEATURE=AUDIO;LABEL="Join, please";VALUE=URI:https://cloud.example.com/call/abc',
    ],
    alarm: alarmOf(
      'ACTION:EMAIL',
      'ATTENDEE:mailto:ada@example.com',
      'SUMMARY:A',
      'DESCRIPTION:A',
      'TRIGGER;RELATED=START:-PT5M',
    ),
  },
  DAVx5: {
    head: ['VERSION:2.0', 'PRODID:DAVx5/4.4.4-ose ical4j/3.2.19 (com.android.calendar)'],
    tzid: 'Europe/Berlin',
    zone: BERLIN,
    isZoneLast: true,
    fold: 75,
    ending: '\n',
    extras: ['COLOR:tomato', 'X-RADICALE-NAME:e2c4c1c5.ics'],
    alarm: alarmOf('TRIGGER:-PT10M', 'ACTION:DISPLAY', 'DESCRIPTION:Run 🏃'),
  },
  Zimbra: {
    head: ['PRODID:Zimbra-Calendar-Provider', 'VERSION:2.0', 'METHOD:PUBLISH'],
    tzid: CUSTOM,
    zone: BERLIN_AS(CUSTOM),
    isQuoted: true,
    fold: 76,
    ending: '\r\n',
    extras: ['X-MICROSOFT-CDO-INTENDEDSTATUS:BUSY', 'DESCRIPTION:The following is a meeting\\n*~*~*~*\\n'],
    alarm: alarmOf('ACTION:DISPLAY', 'TRIGGER;RELATED=START:-PT5M', 'DESCRIPTION:Reminder'),
  },
  Evolution: {
    head: ['CALSCALE:GREGORIAN', 'PRODID:-//Ximian//NONSGML Evolution Calendar//EN', 'VERSION:2.0'],
    tzid: '/freeassociation.sourceforge.net/Europe/Berlin',
    zone: BERLIN_AS('/freeassociation.sourceforge.net/Europe/Berlin'),
    fold: 74,
    ending: '\r\n',
    extras: ['X-EVOLUTION-CALDAV-HREF:https://dav.example.com/a.ics', 'CATEGORIES:International,Birthday'],
    alarm: alarmOf(
      'X-EVOLUTION-ALARM-UID:20261015T081112Z-1',
      'ACTION:DISPLAY',
      'DESCRIPTION:E',
      'TRIGGER;VALUE=DURATION;RELATED=START:-PT15M',
    ),
  },
  KOrganizer: {
    head: [
      'PRODID:-//K Desktop Environment//NONSGML libkcal 4.3//EN',
      'VERSION:2.0',
      'X-KDE-ICAL-IMPLEMENTATION-VERSION:1.0',
    ],
    tzid: 'Europe/Berlin',
    zone: BERLIN,
    fold: 75,
    ending: '\n',
    extras: [
      'X-KDE-KCALCORE-ENABLED:TRUE',
      'ATTACH;FMTTYPE=text/plain;ENCODING=BASE64;VALUE=BINARY;X-LABEL=a.txt:SGVsbG8=',
    ],
    alarm: alarmOf(
      'DESCRIPTION:',
      'ACTION:DISPLAY',
      'TRIGGER;VALUE=DURATION:-PT15M',
      'X-KDE-KCALCORE-ENABLED:TRUE',
    ),
  },
  'Lotus Notes': {
    head: [
      'X-LOTUS-CHARSET:UTF-8',
      'VERSION:2.0',
      'PRODID:-//Lotus Development Corporation//NONSGML Notes 9.0//EN_C',
      'METHOD:REQUEST',
    ],
    tzid: 'W. Europe',
    zone: BERLIN_AS('W. Europe'),
    isQuoted: true,
    fold: 72,
    ending: '\r\n',
    extras: ['X-LOTUS-BROADCAST:FALSE', 'X-LOTUS-UPDATE-SEQ:1', 'X-LOTUS-NOTESVERSION:2', 'CLASS:PUBLIC'],
    alarm: DISPLAY,
  },
  SOGo: {
    head: ['PRODID:-//Inverse inc./SOGo 5.11.2//EN', 'VERSION:2.0'],
    tzid: 'Europe/Berlin',
    zone: BERLIN,
    isSorted: true,
    fold: 75,
    ending: '\r\n',
    extras: ['X-SOGO-SEND-APPOINTMENT-NOTIFICATIONS:NO', 'CLASS:CONFIDENTIAL'],
    alarm: DISPLAY,
  },
  'a script in UTC': {
    head: ['PRODID:icalendar-ruby', 'VERSION:2.0'],
    tzid: null,
    zone: null,
    fold: null,
    ending: '\n',
    extras: [
      'DESCRIPTION:A long line without any fold, which is longer than seventy-five bytes, and has a : and a ; too',
    ],
    alarm: [],
  },
  'an old phone in lower case': {
    head: ['version:2.0', 'prodid:-//odd'],
    tzid: 'Europe/Berlin',
    zone: BERLIN,
    isLower: true,
    fold: 60,
    ending: '\r\n',
    extras: ['x-empty:', 'this is no line', 'description;encoding=quoted-printable:First=0D=0Asecond'],
    alarm: alarmOf('action:display', 'trigger:-PT15M'),
  },
} satisfies Record<string, Manner>
