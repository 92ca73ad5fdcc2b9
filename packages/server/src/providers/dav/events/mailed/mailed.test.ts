import { describe, expect, test } from 'vitest'
import { findNamedZone } from '../../../../kit/zones/named-zone.ts'
import type { RemoteEvent } from '../../../calendars.ts'
import { editEvents, type EditOptions } from '../edit-events.ts'
import type { EventEdit } from '../event-edit.ts'
import { readEvents } from '../read-events.ts'
import { readMailedEvent } from './mailed-event.ts'

const ADA = 'ada@example.com'
const BOB = 'bob@example.org'
const OPTIONS: EditOptions = {
  self: { name: null, address: ADA },
  own: new Set([ADA]),
  agent: null,
  now: new Date('2026-11-29T12:00:00Z'),
}
const resolve = (tzid: string) => findNamedZone(tzid)
const edit = (bytes: Buffer, asked: EventEdit, options = OPTIONS) =>
  editEvents(bytes, asked, options, resolve)!
const invite = (mail: Buffer, options = OPTIONS) => edit(mail, { type: 'invited' }, options)
const take = (file: Buffer, mail: Buffer, from = BOB, options = OPTIONS) =>
  edit(file, { type: 'mailed', bytes: mail, from }, options)
const read = (file: Buffer) => readEvents(file, resolve)!
const mail = (method: string, ...events: string[][]) =>
  Buffer.from(
    [
      'BEGIN:VCALENDAR',
      'VERSION:2.0',
      'PRODID:-//tests//EN',
      `METHOD:${method}`,
      ...events.flatMap(lines => ['BEGIN:VEVENT', 'UID:one', ...lines, 'END:VEVENT']),
      'END:VCALENDAR',
      '',
    ].join('\r\n'),
  )
const times = (day: number, hour = 9) => [`DTSTART:202612${day}T${hour + 10}0000Z`, 'DURATION:PT1H']
const stamp = (minute: number, sequence = 0) => [`SEQUENCE:${sequence}`, `DTSTAMP:20261129T10${minute}00Z`]
const people = [`ORGANIZER;CN=Bob:mailto:${BOB}`, `ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:${ADA}`]
const alarm = ['BEGIN:VALARM', 'ACTION:DISPLAY', 'TRIGGER:-PT5M', 'END:VALARM']
const single = (subject: string, minute: number, sequence = 0, day = 10) => [
  ...stamp(minute, sequence),
  ...times(day),
  `SUMMARY:${subject}`,
  ...people,
]
const series = (subject: string, minute: number, sequence = 0, hour = 9) => [
  ...stamp(minute, sequence),
  ...times(10, hour),
  'RRULE:FREQ=DAILY;COUNT=4',
  `SUMMARY:${subject}`,
  ...people,
]
const member = (day: number, subject: string, minute: number, sequence = 0, hour = 9) => [
  `RECURRENCE-ID:202612${day}T190000Z`,
  ...stamp(minute, sequence),
  ...times(day, hour),
  `SUMMARY:${subject}`,
  ...people,
]
const accept = (file: Buffer, day?: number) =>
  edit(file, {
    type: 'respond',
    part: day === undefined ? { type: 'all' } : { type: 'member', member: wall(day), memberKey: null },
    response: { response: 'accepted', comment: null },
  })
const wall = (day: number) => `202612${day}T190000`
const responseOf = (event: RemoteEvent | null | undefined, address = ADA) =>
  event?.attendees.find(one => one.address === address)?.response
const memberIn = (file: Buffer, day: number) =>
  read(file).members.exceptions.find(one => one.member === wall(day))?.event

describe('an invitation', () => {
  test('becomes a file that waits for a response, without the alarms of its organizer', () => {
    const sent = mail('REQUEST', [...single('Lunch', 10), ...alarm])
    const claimed = Buffer.from(sent.toString().replace('NEEDS-ACTION', 'ACCEPTED;X-WAXWING-REPLIED=9-'))
    for (const one of [sent, claimed]) {
      const file = invite(one)
      expect(file.toString()).not.toMatch(/METHOD|VALARM|X-WAXWING-REPLIED/)
      expect(read(file).event).toMatchObject({
        subject: 'Lunch',
        organizer: { address: BOB },
        reminderMinutes: null,
      })
      expect(responseOf(read(file).event)).toBe('needs_action')
    }
  })

  test('is updated by a later mail alone, and keeps the response while its time stays', () => {
    const file = accept(invite(mail('REQUEST', single('Lunch', 10))))
    // The response gave the file a later DTSTAMP than that of the mail.
    const renamed = take(file, mail('REQUEST', single('Long lunch', 11)))
    expect(read(renamed).event).toMatchObject({ subject: 'Long lunch' })
    expect(responseOf(read(renamed).event)).toBe('accepted')
    for (const old of [single('Lunch', 10), single('Older', 11)])
      expect(take(renamed, mail('REQUEST', old))).toEqual(renamed)
    const moved = take(renamed, mail('REQUEST', single('Late lunch', 10, 1, 11)))
    expect(read(moved).event).toMatchObject({ subject: 'Late lunch', start: { wall: '20261211T190000' } })
    expect(responseOf(read(moved).event)).toBe('needs_action')
  })

  test('keeps the reminder, the class and the extensions of its attendee', () => {
    const file = Buffer.from(
      invite(mail('REQUEST', [...single('Lunch', 10), 'LOCATION:Here', 'X-THEIRS:1']))
        .toString()
        .replace('END:VEVENT', ['X-MINE:1', 'CLASS:PRIVATE', ...alarm, 'END:VEVENT'].join('\r\n')),
    )
    const after = take(file, mail('REQUEST', [...single('Lunch', 11), 'CLASS:PUBLIC', 'X-THEIRS:2']))
    expect(read(after).event).toMatchObject({ location: null, sensitivity: 'private', reminderMinutes: 5 })
    expect(after.toString()).toMatch(/X-THEIRS:2\r\n/)
    expect(after.toString()).toMatch(/X-MINE:1\r\n/)
  })

  test.each([
    { name: 'a stranger', from: 'eve@example.net', lines: single('Mine now', 20) },
    {
      name: 'a stranger who names himself as the organizer',
      from: 'eve@example.net',
      lines: single('Mine now', 20).map(line => line.replaceAll(BOB, 'eve@example.net')),
    },
    {
      name: 'a stranger who claims to send it for the organizer',
      from: 'eve@example.net',
      lines: single('Mine now', 20).map(line => line.replace('CN=Bob', 'SENT-BY="mailto:eve@example.net"')),
    },
  ])('is left alone by a mail of $name', ({ from, lines }) => {
    const file = invite(mail('REQUEST', single('Lunch', 10)))
    expect(take(file, mail('REQUEST', lines), from)).toEqual(file)
    expect(take(file, mail('CANCEL', lines), from)).toEqual(file)
  })

  test('does not begin after it is over', () => {
    const past = (lines: string[]) =>
      mail(
        'REQUEST',
        lines.map(line => line.replace('DTSTART:202612', 'DTSTART:202511')),
      )
    const enters = (sent: Buffer) => editEvents(sent, { type: 'invited' }, OPTIONS, resolve) !== null
    expect(enters(past(single('Lunch', 10)))).toBe(false)
    expect(enters(past(series('Daily', 10)))).toBe(false)
    expect(enters(past(series('Daily', 10).map(line => line.replace(';COUNT=4', ''))))).toBe(true)
    expect(enters(past(series('Daily', 10).map(line => line.replace('=4', '=1000'))))).toBe(true)
    expect(enters(past([...single('Lunch', 10), 'RDATE:20261230T190000Z']))).toBe(true)
  })

  test('of another UID is no update', () => {
    const file = invite(mail('REQUEST', single('Lunch', 10)))
    const other = Buffer.from(mail('REQUEST', single('Dinner', 11)).toString().replace('UID:one', 'UID:two'))
    expect(take(file, other)).toEqual(file)
  })

  test('is cancelled by its organizer, unless that is older', () => {
    const file = invite(mail('REQUEST', single('Lunch', 20)))
    expect(take(file, mail('CANCEL', single('Lunch', 10)))).toEqual(file)
    // RFC 5546 section 3.2.5: without times.
    const without = [...stamp(21), ...people]
    const cancelled = take(file, mail('CANCEL', without))
    expect(read(cancelled).event).toMatchObject({ status: 'cancelled', subject: 'Lunch' })
    expect(take(cancelled, mail('CANCEL', without))).toEqual(cancelled)
  })

  test('takes no time from a cancellation that is none', () => {
    const file = invite(mail('REQUEST', single('Lunch', 20)))
    const odd = ['SEQUENCE:1', 'DTSTAMP:yesterday', ...people]
    const cancelled = take(file, mail('CANCEL', odd))
    expect(read(cancelled).event).toMatchObject({ status: 'cancelled' })
    expect(cancelled.toString()).not.toContain('yesterday')
  })
})

describe('an invitation to a series', () => {
  const file = accept(invite(mail('REQUEST', series('Daily', 10))))

  test('is changed in one member, and cancelled in another', () => {
    const moved = take(file, mail('REQUEST', member(11, 'Daily, later', 11, 0, 11)))
    expect(memberIn(moved, 11)).toMatchObject({ subject: 'Daily, later', start: { wall: '20261211T210000' } })
    expect(responseOf(memberIn(moved, 11))).toBe('needs_action')
    expect(responseOf(read(moved).event)).toBe('accepted')
    const renamed = take(moved, mail('ADD', member(12, 'Special', 12)))
    expect(responseOf(memberIn(renamed, 12))).toBe('accepted')
    const cancelled = take(renamed, mail('CANCEL', member(13, 'Daily', 13, 1)))
    expect(read(cancelled).members.taken).toEqual([wall(13)])
    expect(take(cancelled, mail('CANCEL', member(13, 'Daily', 13, 1)))).toEqual(cancelled)
    expect(take(cancelled, mail('REQUEST', member(11, 'Older', 10)))).toEqual(cancelled)
    const back = take(cancelled, mail('REQUEST', member(13, 'Back', 14, 1)))
    expect(memberIn(back, 13)).toMatchObject({ subject: 'Back', status: 'confirmed' })
  })

  test('is updated as a whole, and keeps what the attendee did with single members', () => {
    const declined = edit(file, {
      type: 'respond',
      part: { type: 'member', member: wall(11), memberKey: null },
      response: { response: 'declined', comment: null },
    })
    const left = edit(declined, {
      type: 'remove',
      part: { type: 'member', member: wall(12), memberKey: null },
    })
    const renamed = take(left, mail('REQUEST', series('Renamed', 20)))
    expect(read(renamed).members).toMatchObject({ taken: [wall(12)] })
    expect(memberIn(renamed, 11)).toMatchObject({ subject: 'Renamed' })
    expect(responseOf(memberIn(renamed, 11))).toBe('declined')
    expect(responseOf(read(renamed).event)).toBe('accepted')
    const moved = take(renamed, mail('REQUEST', series('Moved', 20, 1, 10)))
    expect(read(moved)).toMatchObject({ members: { exceptions: [], taken: [] }, event: { subject: 'Moved' } })
    expect(responseOf(read(moved).event)).toBe('needs_action')
  })

  test('has the exceptions that its organizer sends along, and no others', () => {
    const both = mail(
      'REQUEST',
      series('Daily', 11),
      member(11, 'First', 11, 0, 11),
      member(12, 'Second', 11),
    )
    const changed = take(file, both)
    expect(read(changed).members.exceptions.map(({ event }) => event.subject)).toEqual(['First', 'Second'])
    const one = take(changed, mail('REQUEST', series('Daily', 12), member(12, 'Third', 12)))
    expect(read(one).members.exceptions.map(({ event }) => event.subject)).toEqual(['Third'])
  })

  test('takes only what is for the account from a mail that is for others as well', () => {
    const others = (lines: string[]) => lines.map(line => line.replaceAll(ADA, 'carol@example.com'))
    const both = mail('CANCEL', member(11, 'Daily', 11, 1), others(member(12, 'Daily', 11, 1)))
    expect(read(take(file, both)).members.taken).toEqual([wall(11)])
    const guest = mail('REQUEST', others(series('Daily', 11)), member(11, 'For one day', 11))
    const invited = invite(guest)
    expect(read(invited)).toMatchObject({ event: null, members: { exceptions: [{ member: wall(11) }] } })
    const renamed = mail('REQUEST', others(series('Renamed', 12)), member(11, 'That day', 12))
    expect(read(take(invited, renamed))).toMatchObject({
      event: null,
      members: { exceptions: [{ event: { subject: 'That day' } }] },
    })
  })

  test('begins with one member, and gets its series later', () => {
    const first = invite(mail('REQUEST', member(11, 'Only this', 10)))
    expect(read(first)).toMatchObject({ event: null, members: { exceptions: [{ member: wall(11) }] } })
    const more = take(first, mail('REQUEST', member(12, 'And this', 11)))
    const whole = take(more, mail('REQUEST', series('Daily', 12)))
    expect(read(whole)).toMatchObject({
      event: { subject: 'Daily' },
      recurrence: ['RRULE:FREQ=DAILY;COUNT=4'],
    })
    expect(read(whole).members.exceptions.map(one => one.member)).toEqual([wall(11), wall(12)])
  })
})

describe('an event of the account', () => {
  const own = [`ORGANIZER:mailto:${ADA}`, `ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:${BOB}`]
  const store = (...events: string[][]) =>
    Buffer.from(
      mail('X', ...events)
        .toString()
        .replace('METHOD:X\r\n', ''),
    )
  const mine = (lines: string[]) => [...lines.filter(line => !people.includes(line)), ...own]
  const event = store(mine(single('Ours', 10, 2)))
  const daily = store(mine(series('Ours', 10, 2)))
  const reply = (status: string, minute: number, more: string[] = [], sequence: number | null = 2) =>
    mail('REPLY', [
      ...more,
      ...stamp(minute, sequence ?? 0).slice(sequence === null ? 1 : 0),
      `ORGANIZER:mailto:${ADA}`,
      `ATTENDEE;PARTSTAT=${status}:mailto:${BOB}`,
    ])
  const of = (file: Buffer) => responseOf(read(file).event, BOB)

  test('gets the last answer of an attendee, whatever order they come in', () => {
    const accepted = take(event, reply('ACCEPTED', 10))
    expect(of(accepted)).toBe('accepted')
    expect(accepted.toString()).not.toContain('RSVP')
    const again = take(accepted, reply('TENTATIVE', 30))
    expect(of(again)).toBe('tentative')
    expect(take(again, reply('DECLINED', 20))).toEqual(again)
    expect(take(again, reply('TENTATIVE', 30))).toEqual(again)
  })

  test('does not count answers to times that it had before', () => {
    expect(take(event, reply('ACCEPTED', 10, [], 1))).toEqual(event)
    expect(of(take(event, reply('ACCEPTED', 10, [], null)))).toBe('accepted')
  })

  test('is left alone by people who are not invited, and by those who answer for others', () => {
    const stranger = Buffer.from(reply('ACCEPTED', 10).toString().replaceAll(BOB, 'eve@example.net'))
    expect(take(event, stranger, 'eve@example.net')).toEqual(event)
    expect(take(event, reply('ACCEPTED', 10), 'eve@example.net')).toEqual(event)
    const inTheName = Buffer.from(
      reply('ACCEPTED', 10).toString().replace('ATTENDEE;', 'ATTENDEE;SENT-BY="mailto:eve@example.net";'),
    )
    expect(inTheName.includes('SENT-BY')).toBe(true)
    expect(take(event, inTheName, 'eve@example.net')).toEqual(event)
    const many = Array.from({ length: 51 }, () => single('Theirs', 30))
    expect(take(event, mail('REPLY', ...many), BOB)).toEqual(event)
    expect(take(event, mail('REQUEST', single('Theirs', 30, 9)))).toEqual(event)
    expect(take(event, mail('CANCEL', single('Theirs', 30, 9)))).toEqual(event)
    expect(take(event, mail('COUNTER', single('Theirs', 30, 9)))).toEqual(event)
  })

  test('gets an answer for one member, which one for all does not change', () => {
    const at = (day: number) => [`RECURRENCE-ID:202612${day}T190000Z`]
    const declined = take(daily, reply('DECLINED', 10, at(11)))
    expect(responseOf(memberIn(declined, 11), BOB)).toBe('declined')
    expect(of(declined)).toBe('needs_action')
    const accepted = take(declined, reply('ACCEPTED', 11))
    expect(of(accepted)).toBe('accepted')
    expect(responseOf(memberIn(accepted, 11), BOB)).toBe('declined')
    expect(take(accepted, reply('DECLINED', 12, at(20)))).toEqual(accepted)
  })
})

describe('a calendar object that is refused at once', () => {
  const given = { from: BOB, own: new Set([ADA]) }
  const text = mail('REQUEST', single('Lunch', 10)).toString()
  const told = (change: (text: string) => string, options = given) =>
    readMailedEvent(Buffer.from(change(text)), options)

  test('is none that can be taken', () => {
    expect(told(same => same)).toEqual({ method: 'request', uid: 'one', organizer: BOB })
    const refused = [
      told(one => one.replace('METHOD:REQUEST', 'METHOD:PUBLISH')),
      told(one => one.replace('METHOD:REQUEST', 'METHOD:REFRESH')),
      told(one => one.replace('METHOD:REQUEST\r\n', '')),
      told(one => one.replace('UID:one\r\n', '')),
      told(one => one.replace(/ORGANIZER.*\r\n/, '')),
      told(one => one + one),
      told(one => one.replace('END:VEVENT', 'END:VEVENT\r\nBEGIN:VEVENT\r\nUID:two\r\nEND:VEVENT')),
      told(one => one.replace('SUMMARY', 'RECURRENCE-ID;RANGE=THISANDFUTURE:20261210T190000Z\r\nSUMMARY')),
      told(one => one.replaceAll(ADA, 'carol@example.com')),
      told(one => one.replaceAll('VEVENT', 'VTODO')),
      told(same => same, { ...given, from: 'eve@example.net' }),
      told(same => same, { ...given, own: new Set([ADA, BOB]) }),
    ]
    expect(refused).toEqual(refused.map(() => null))
  })

  test('may be sent by somebody else whom the organizer names', () => {
    const named = (one: string) => one.replace('CN=Bob', 'SENT-BY="mailto:Eve@example.net"')
    expect(told(named, { ...given, from: 'eve@example.net' })).toMatchObject({ organizer: BOB })
  })
})
