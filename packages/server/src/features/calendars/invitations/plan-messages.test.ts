import { describe, expect, test } from 'vitest'
import { doAtOnce } from '../../../kit/sliced-work.ts'
import type { RemoteAttendee } from '../../../providers/calendars.ts'
import type { Meeting, MeetingEvent } from './meeting.ts'
import { type MessageOptions, messageSteps } from './plan-messages.ts'
import { planDeclining, planReplies } from './plan-replies.ts'

const person = (name: string): RemoteAttendee => ({
  name: null,
  address: `${name}@example.com`,
  type: 'required',
  response: 'needs_action',
})

const at = (wall: string) => ({ wall, zone: 'Europe/Berlin' })

const EVENT: MeetingEvent = {
  start: at('20261130T120000'),
  end: at('20261130T130000'),
  subject: 'Lunch',
  location: null,
  organizer: { name: 'Ada', address: 'ada@example.com' },
  attendees: [person('bob'), person('eve')],
  status: 'confirmed',
  sensitivity: 'normal',
  onlineMeetingUrl: null,
  sequence: 1,
  stampedAt: '2026-11-29T18:00:00.000Z',
  bodyDigest: null,
  body: null,
}

const SINGLE: Meeting = { uid: 'lunch', event: EVENT, recurrence: null, exceptions: [], taken: [] }
const SERIES: Meeting = { ...SINGLE, recurrence: ['RRULE:FREQ=WEEKLY;COUNT=5'] }
const SECOND = '20261207T120000'
const second = (change: Partial<MeetingEvent> = {}) => ({
  member: SECOND,
  event: { ...EVENT, start: at(SECOND), end: at('20261207T130000'), ...change },
})
const inviting = (...names: string[]) => ({ ...EVENT, attendees: names.map(person) })

const OPTIONS: MessageOptions = {
  own: new Set(['ada@example.com']),
  self: { name: 'Ada', address: 'ada@example.com' },
  now: new Date('2026-11-29T19:00:00Z'),
  from: '20260901T000000',
  isMailable: address => !address.startsWith('odd'),
}

const planMessages = (before: Meeting | null, after: Meeting | null) =>
  doAtOnce(messageSteps(before, after, OPTIONS))

/** `method of member to people, sequence`. */
function told(before: Meeting | null, after: Meeting | null): string[] {
  return planMessages(before, after).map(({ method, member, isNew, to, components }) => {
    const names = to.map(({ address }) => address.split('@')[0]).toSorted()
    const about = member === null ? '' : ` ${member}`
    return `${isNew ? 'new ' : ''}${method}${about} ${names.join(',')} ${components[0]!.sequence}`
  })
}

describe('a single event', () => {
  test.each<[string, Meeting | null, Meeting | null, string[]]>([
    ['that is new invites all', null, SINGLE, ['new REQUEST bob,eve 1']],
    ['that is the same is told nobody', SINGLE, SINGLE, []],
    [
      'that moves to another place is told all',
      SINGLE,
      { ...SINGLE, event: { ...EVENT, location: 'Bar' } },
      ['REQUEST bob,eve 1'],
    ],
    [
      'with another body is told all',
      SINGLE,
      { ...SINGLE, event: { ...EVENT, bodyDigest: 'x' } },
      ['REQUEST bob,eve 1'],
    ],
    [
      'of another sensitivity is told nobody',
      SINGLE,
      { ...SINGLE, event: { ...EVENT, sensitivity: 'private' } },
      [],
    ],
    [
      'with one more attendee invites only that one',
      SINGLE,
      { ...SINGLE, event: inviting('bob', 'eve', 'kim') },
      ['new REQUEST kim 1'],
    ],
    [
      'with one less tells only that one',
      SINGLE,
      { ...SINGLE, event: inviting('eve') },
      ['new CANCEL bob 1'],
    ],
    [
      'with others at another place tells each what concerns them',
      SINGLE,
      { ...SINGLE, event: { ...inviting('eve', 'kim'), location: 'Bar' } },
      ['new CANCEL bob 1', 'REQUEST eve 1', 'new REQUEST kim 1'],
    ],
    ['that is deleted is cancelled with a higher revision', SINGLE, null, ['CANCEL bob,eve 2']],
    [
      'that is cancelled is cancelled',
      SINGLE,
      { ...SINGLE, event: { ...EVENT, status: 'cancelled' } },
      ['CANCEL bob,eve 1'],
    ],
    ['that was cancelled is told nobody', { ...SINGLE, event: { ...EVENT, status: 'cancelled' } }, null, []],
    [
      'leaves out the account and who cannot be mailed',
      null,
      { ...SINGLE, event: inviting('ada', 'odd', 'bob') },
      ['new REQUEST bob 1'],
    ],
    [
      'of another organizer is told nobody',
      null,
      { ...SINGLE, event: { ...EVENT, organizer: { name: null, address: 'boss@example.com' } } },
      [],
    ],
  ])('%s', (_, before, after, expected) => expect(told(before, after)).toEqual(expected))
})

describe('a series', () => {
  test.each<[string, Meeting | null, Meeting | null, string[]]>([
    [
      'with one member elsewhere tells that member',
      SERIES,
      { ...SERIES, exceptions: [second({ location: 'Bar', sequence: 2 })] },
      [`REQUEST ${SECOND} bob,eve 2`],
    ],
    [
      'with an exception that shows the same is told nobody',
      SERIES,
      { ...SERIES, exceptions: [second()] },
      [],
    ],
    [
      'with a guest for one member invites only that one',
      SERIES,
      { ...SERIES, exceptions: [second({ attendees: ['bob', 'eve', 'kim'].map(person) })] },
      [`new REQUEST ${SECOND} kim 1`],
    ],
    [
      'without a guest for one member cancels that member for that one',
      SERIES,
      { ...SERIES, exceptions: [second({ attendees: [person('eve')] })] },
      [`new CANCEL ${SECOND} bob 1`],
    ],
    [
      'without a member cancels that member',
      SERIES,
      { ...SERIES, taken: [SECOND], event: { ...EVENT, sequence: 2 } },
      [`CANCEL ${SECOND} bob,eve 2`],
    ],
    [
      'without an exception cancels with more than its revision',
      { ...SERIES, exceptions: [second({ sequence: 7 })] },
      { ...SERIES, taken: [SECOND] },
      [`CANCEL ${SECOND} bob,eve 8`],
    ],
    [
      'that ends earlier is told as a whole, and nothing of its exceptions',
      { ...SERIES, exceptions: [second({ location: 'Bar' })] },
      { ...SERIES, recurrence: ['RRULE:FREQ=WEEKLY;COUNT=1'] },
      ['REQUEST bob,eve 1'],
    ],
    [
      'cancels an exception for whom only that was told when it ends earlier',
      { ...SERIES, exceptions: [second({ attendees: ['bob', 'eve', 'kim'].map(person) })] },
      { ...SERIES, recurrence: ['RRULE:FREQ=WEEKLY;COUNT=1'] },
      [`CANCEL ${SECOND} kim 2`, 'REQUEST bob,eve 1'],
    ],
    [
      'with a member that is again what the rule gives is told as a whole',
      { ...SERIES, exceptions: [second({ location: 'Bar' })] },
      SERIES,
      ['REQUEST bob,eve 1'],
    ],
    [
      'that is deleted is cancelled as a whole',
      { ...SERIES, exceptions: [second({ location: 'Bar', sequence: 4 })] },
      null,
      ['CANCEL bob,eve 5'],
    ],
    [
      'is told as a whole where many members change',
      SERIES,
      { ...SERIES, taken: Array.from({ length: 11 }, (_, week) => `202612${10 + week}T120000`) },
      ['REQUEST bob,eve 1'],
    ],
    [
      'of which the index lacks what is over is told nobody',
      SERIES,
      { ...SERIES, taken: ['20250101T120000'], exceptions: [{ ...second(), member: '20250108T120000' }] },
      [],
    ],
  ])('%s', (_, before, after, expected) => expect(told(before, after)).toEqual(expected))

  test('is told without the exceptions of others', () => {
    const exceptions = [second({ attendees: [person('eve')] })]
    const messages = planMessages(null, { ...SERIES, exceptions })
    const shown = messages.map(({ to, components }) => [
      to.map(({ address }) => address),
      components.length,
      components[0]!.excluded,
    ])
    expect(shown).toEqual([
      [['bob@example.com'], 1, [SECOND]],
      [['eve@example.com'], 2, []],
    ])
  })

  test('names in a cancellation only those whom it is for', () => {
    const [message] = planMessages(SERIES, { ...SERIES, event: inviting('eve') })
    expect(message!.components[0]!.attendees.map(({ address }) => address)).toEqual(['bob@example.com'])
    expect(message!.components[0]!.status).toBe('cancelled')
  })
})

describe('an invitation', () => {
  const invited: Meeting = {
    ...SERIES,
    event: { ...inviting('ada', 'bob'), organizer: { name: null, address: 'boss@example.com' } },
  }

  test('is answered to its organizer, and names nobody else', () => {
    const answer = { part: { type: 'all' }, response: 'accepted', comment: 'Gladly' } as const
    const [message] = planReplies(invited, answer, OPTIONS)
    expect(message).toMatchObject({
      method: 'REPLY',
      member: null,
      to: [{ address: 'boss@example.com' }],
      from: { address: 'ada@example.com' },
      components: [{ attendees: [{ address: 'ada@example.com', response: 'accepted' }], comment: 'Gladly' }],
    })
  })

  test('is answered for one occurrence', () => {
    const part = { type: 'member', member: SECOND } as const
    const [message] = planReplies(invited, { part, response: 'tentative', comment: null }, OPTIONS)
    expect(message).toMatchObject({
      member: SECOND,
      components: [{ recurrenceId: at(SECOND), start: at(SECOND), sequence: 1 }],
    })
  })

  test('is declined when it is deleted, unless it is declined already', () => {
    expect(planDeclining(invited, { type: 'all' }, OPTIONS)).toHaveLength(1)
    const [ada, bob] = invited.event!.attendees
    const attendees = [{ ...ada!, response: 'declined' as const }, bob!]
    const declined = { ...invited, event: { ...invited.event!, attendees } }
    expect(planDeclining(declined, { type: 'all' }, OPTIONS)).toEqual([])
  })

  test('of the account itself has no reply', () => {
    expect(planDeclining(SINGLE, { type: 'all' }, OPTIONS)).toEqual([])
  })
})

describe('a message is later than the last one about its event', () => {
  const stampsOf = (messages: ReturnType<typeof planMessages>) =>
    messages.map(({ method, components }) => `${method} ${components[0]!.stamp.toISOString().slice(11, 19)}`)
  const second1 = '2026-11-29T19:00:01.000Z'

  test('and has the stamp of the write, which the next one is later than', () => {
    const before = { ...SINGLE, event: { ...EVENT, stampedAt: OPTIONS.now.toISOString() } }
    const after = { ...SINGLE, event: { ...inviting('bob', 'kim'), stampedAt: second1 } }
    expect(stampsOf(planMessages(before, after))).toEqual(['CANCEL 19:00:01', 'REQUEST 19:00:01'])
    expect(stampsOf(planMessages(before, null))).toEqual(['CANCEL 19:00:01'])
  })

  test('also an answer', () => {
    const event = { ...inviting('ada'), organizer: { name: null, address: 'boss@example.com' } }
    const invited = { ...SINGLE, event: { ...event, stampedAt: second1 } }
    const answer = { part: { type: 'all' }, response: 'accepted', comment: null } as const
    expect(stampsOf(planReplies(invited, answer, OPTIONS))).toEqual(['REPLY 19:00:01'])
    expect(stampsOf(planDeclining(invited, { type: 'all' }, OPTIONS))).toEqual(['REPLY 19:00:02'])
  })
})
