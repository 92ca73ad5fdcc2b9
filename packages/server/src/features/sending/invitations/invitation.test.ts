import { expect, test } from 'vitest'
import { cleanInvitation, INVITED_MAX, type InvitationMail } from './invitation.ts'

const MAIL: InvitationMail = {
  id: '0199b0f2-5d1a-7c44-9f0e-0d4f2a6c1b7e',
  from: { name: 'Ada', address: 'ada@example.com' },
  to: [{ name: 'Grace', address: 'grace@example.org' }],
  subject: 'Invitation: Bridges',
  text: 'Bridges.',
  html: '<p>Bridges.</p>',
  method: 'REQUEST',
  calendar: 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n',
  eventId: '0199b0f2-5d1a-7c44-9f0e-0d4f2a6c1b7f',
}

const clean = (change: Partial<InvitationMail>) => cleanInvitation({ ...MAIL, ...change }, 'me@example.com')

test('an invitation that can be written stays as it is', () => {
  expect(clean({})).toEqual(MAIL)
})

test.each([
  'urn:uuid:1',
  'room-1',
  'a@b',
  'a@example.com>, <x@example.net',
  'a,b@example.com',
  'a\r\n@example.com',
  '',
])('nobody is invited at %j', address => {
  expect(clean({ to: [{ name: null, address }, ...MAIL.to] }).to).toEqual(MAIL.to)
  expect(clean({ from: { name: 'Ada', address } }).from).toEqual({ name: 'Ada', address: 'me@example.com' })
})

test('names and subjects are single lines of what can be stored', () => {
  const name = 'A\r\nBcc: x@example.net\u0000\ud800'
  const cleaned = 'A Bcc: x@example.net \ufffd'
  const { from, to, subject, text } = clean({
    from: { ...MAIL.from, name },
    to: [{ name, address: 'grace@example.org' }],
    subject: name,
    text: '\udfff',
  })
  expect([from.name, to[0]!.name, subject, text]).toEqual([cleaned, cleaned, cleaned, '\ufffd'])
  expect(clean({ subject: 'x'.repeat(2_000) }).subject.length).toBeLessThan(1_000)
})

test('a mail to more people than one may have is refused', () => {
  const to = Array.from({ length: INVITED_MAX + 1 }, (_, nth) => ({
    name: null,
    address: `a${nth}@example.org`,
  }))
  expect(clean({ to: to.slice(1) }).to).toHaveLength(INVITED_MAX)
  expect(() => clean({ to })).toThrow('at most 100 recipients')
})
