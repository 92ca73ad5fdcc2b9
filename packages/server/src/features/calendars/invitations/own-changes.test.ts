import { describe, expect, test } from 'vitest'
import { doAtOnce } from '../../../kit/sliced-work.ts'
import type { RemoteAttendee } from '../../../providers/calendars.ts'
import type { EventChange } from '../../../providers/changing-calendars.ts'
import type { AskedWrite } from '../writing/ask-events.ts'
import type { Meeting, MeetingEvent } from './meeting.ts'
import { beforeOwnChanges } from './own-changes.ts'
import { messageSteps } from './plan-messages.ts'

const person = (name: string): RemoteAttendee => ({
  name: null,
  address: `${name}@example.com`,
  type: 'required',
  response: 'needs_action',
})
const people = (...names: string[]) => ({ attendees: names.map(person) })
const at = (day: number, hour: number) => ({
  wall: `202612${String(day).padStart(2, '0')}T${hour}0000`,
  zone: 'UTC',
})

const EVENT: MeetingEvent = {
  start: at(1, 10),
  end: at(1, 11),
  subject: 'Daily',
  location: null,
  organizer: { name: 'Ada', address: 'ada@example.com' },
  ...people('bob', 'eve'),
  status: 'confirmed',
  sensitivity: 'normal',
  onlineMeetingUrl: null,
  sequence: 1,
  stampedAt: null,
  bodyDigest: null,
  body: null,
}
const SERIES: Meeting = {
  uid: 'daily',
  event: EVENT,
  recurrence: ['RRULE:FREQ=DAILY;COUNT=9'],
  exceptions: [],
  taken: [],
}
const on = (day: number, change: Partial<MeetingEvent> = {}) => ({
  member: at(day, 10).wall,
  event: { ...EVENT, start: at(day, 10), end: at(day, 11), ...change },
})

const PLACE = { calendarKey: 'calendar', key: 'series' }
const changing = (change: EventChange, part: object = { type: 'all', timesOf: null }) =>
  ({
    type: 'change',
    place: PLACE,
    part,
    change,
    toCalendarKey: null,
    creation: { creationId: 'x', mayExist: false },
  }) as AskedWrite
const removing = (day: number, type: 'member' | 'following' = 'member'): AskedWrite => ({
  type: 'remove',
  place: PLACE,
  part: { type, member: at(day, 10).wall, memberKey: null },
})
const member = (day: number) => ({ type: 'member', member: at(day, 10).wall, memberKey: null })

/** `method of member to people` of each message about a write after which others may have changed the series. */
function told(asked: AskedWrite, after: Partial<Meeting> | null, before: Partial<Meeting> = {}): string[] {
  const now = after && { ...SERIES, ...after }
  const former = doAtOnce(beforeOwnChanges({ ...SERIES, ...before }, now, asked))
  const messages = doAtOnce(
    messageSteps(former, now, {
      own: new Set(['ada@example.com']),
      self: { name: 'Ada', address: 'ada@example.com' },
      now: new Date('2026-11-29T12:00:00Z'),
      from: '20260901T000000',
      isMailable: () => true,
    }),
  )
  return messages.map(({ method, member: of, to }) => {
    const names = to.map(({ address }) => address.split('@')[0]).toSorted()
    return `${method}${of ? ` ${of}` : ''} ${names.join(',')}`
  })
}

describe('people are told of the own change alone', () => {
  const location = { location: 'Bar' }
  test.each<[string, AskedWrite, Partial<Meeting> | null, string[], Partial<Meeting>?]>([
    ['the change is there', changing(location), { event: { ...EVENT, ...location } }, ['REQUEST bob,eve']],
    [
      'another field was changed as well',
      changing(location),
      { event: { ...EVENT, ...location, subject: 'Theirs' } },
      ['REQUEST bob,eve'],
    ],
    ['only another field was changed', changing(location), { event: { ...EVENT, subject: 'Theirs' } }, []],
    ['its field was changed again', changing(location), { event: { ...EVENT, location: 'Theirs' } }, []],
    ['the event is gone', changing(location), null, []],
    ['others invited kim', changing(location), { event: { ...EVENT, ...people('bob', 'eve', 'kim') } }, []],
    [
      'kim is invited, and others have removed eve',
      changing(people('bob', 'eve', 'kim')),
      { event: { ...EVENT, ...people('bob', 'kim') } },
      ['REQUEST kim'],
    ],
    [
      'eve is removed, and others have invited kim',
      changing(people('bob')),
      { event: { ...EVENT, ...people('bob', 'kim') } },
      ['CANCEL eve'],
    ],
    [
      'the series is moved',
      changing({ start: at(1, 12) }),
      { event: { ...EVENT, start: at(1, 12), end: at(1, 13) } },
      ['REQUEST bob,eve'],
    ],
    [
      'others have moved the series elsewhere',
      changing({ start: at(1, 12) }),
      { event: { ...EVENT, start: at(1, 14), end: at(1, 15) } },
      [],
    ],
    [
      'one occurrence is changed, and others have changed another one',
      changing(location, member(2)),
      { exceptions: [on(2, location), on(3, { subject: 'Theirs' })] },
      ['REQUEST 20261202T100000 bob,eve'],
    ],
    [
      'others have changed an occurrence',
      changing(location, member(2)),
      { exceptions: [on(3, location)] },
      [],
    ],
    [
      'an occurrence is deleted, and others have deleted another one',
      removing(2),
      { taken: [at(2, 10).wall, at(3, 10).wall] },
      ['CANCEL 20261202T100000 bob,eve'],
    ],
    ['others have deleted an occurrence', removing(2), { taken: [at(3, 10).wall] }, []],
    [
      'the series is ended, and others have deleted an occurrence before',
      removing(5, 'following'),
      { recurrence: ['RRULE:FREQ=DAILY;COUNT=4'], taken: [at(3, 10).wall] },
      ['REQUEST bob,eve'],
    ],
    ['it is deleted', { type: 'remove', place: PLACE, part: { type: 'all' } }, null, ['CANCEL bob,eve']],
  ])('%s', (_, asked, after, messages) => expect(told(asked, after)).toEqual(messages))
})
