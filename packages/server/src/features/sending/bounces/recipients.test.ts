import { describe, expect, test } from 'vitest'
import { readOutline } from '../../../kit/mime/outline.ts'
import { parseComplaint } from './complaint.ts'
import { bouncedOf, complainantsOf } from './recipients.ts'

const sentTo = (...addresses: string[]) => ({
  sender: 'ada@example.com',
  recipients: new Map(addresses.map(address => [address, address])),
})

/** A report of a feedback loop with the given fields. */
function complaint(...fields: readonly string[]) {
  const source = [
    'From: <feedbackloop@mx.example.org>',
    'Content-Type: multipart/report; report-type=feedback-report; boundary="arf"',
    '',
    '--arf',
    'Content-Type: message/feedback-report',
    '',
    'Version: 1',
    ...fields,
    '',
    '--arf--',
    '',
  ].join('\r\n')
  return parseComplaint(readOutline(Buffer.from(source)))
}

describe('a complaint', () => {
  test.each([['grace@example.org'], ['<Grace@Example.ORG>'], ['rfc822; grace@example.org']])(
    'names a recipient as %s',
    named => {
      const found = complaint('Feedback-Type: abuse', `Original-Rcpt-To: ${named}`)!
      expect(complainantsOf(found, sentTo('grace@example.org', 'max@example.org'))).toEqual([
        'grace@example.org',
      ])
    },
  )

  // RFC 6590 section 3 leaves the domain, and makes the local part unreadable.
  test.each([
    ['<dXQxSmxKMFdIQ3JSektyWW5iQVk=@example.org>'],
    ['ut1JlJ0WHCrRzKrYnbAY@example.org'],
    ['rfc822;e3b0c44298fc1c149afbf4c8996fb924@example.org'],
    ['redacted@example.org'],
    ['<redacted>'],
    ['[REDACTED]'],
    ['redacted-address@redacted.invalid'],
    ['xxxxx@example.org'],
    ['*****@example.org'],
    ['<>'],
    [''],
  ])('with the redacted recipient %j means the only one', named => {
    const found = complaint('Feedback-Type: abuse', `Original-Rcpt-To: ${named}`)!
    expect(complainantsOf(found, sentTo('grace@example.org'))).toEqual(['grace@example.org'])
    expect(complainantsOf(found, sentTo('grace@example.org', 'max@example.org'))).toEqual([])
  })

  test('that names no address means the only recipient', () => {
    const found = complaint('Feedback-Type: abuse')!
    expect(complainantsOf(found, sentTo('grace@example.org'))).toEqual(['grace@example.org'])
    expect(complainantsOf(found, sentTo('grace@example.org', 'max@example.org'))).toEqual([])
  })

  test.each([
    ['eve@example.net'],
    ['christophergreenwood@example.org'],
    ['max.mustermann@example.org'],
    ['foxx@example.org'],
  ])('that names %s is about no other address', named => {
    const found = complaint('Feedback-Type: abuse', `Original-Rcpt-To: ${named}`)!
    expect(complainantsOf(found, sentTo('grace@example.org'))).toEqual([])
  })

  test.each([
    ['abuse', 'abuse'],
    ['Abuse (a person pressed the button)', 'abuse'],
    ['(by hand) abuse', 'abuse'],
    ['(of (two (kinds))) fraud (sure)', 'fraud'],
    ['abuse (an unbalanced \\) one)', 'abuse'],
    ['\r\n abuse\r\n (folded)', 'abuse'],
    ['opt-out (listed)', 'opt-out'],
    ['not-spam (abuse)', null],
    ['auth-failure', null],
    ['(abuse)', null],
    ['abuse (', null],
  ])('of the type %j is read as %j', (type, kind) => {
    expect(complaint(`Feedback-Type: ${type}`)?.kind ?? null).toBe(kind)
  })
})

describe('a report without an address', () => {
  const nameless = {
    addresses: [],
    hosts: [],
    status: '5.1.1',
    diagnostic: '550 5.1.1 User unknown',
    isOwn: true,
  }

  test('is about the only recipient, and suppresses no address', () => {
    expect(bouncedOf({ failed: [nameless] }, sentTo('grace@example.org'))).toMatchObject([
      { address: 'grace@example.org', type: 'hard', suppresses: false },
    ])
  })

  test('is about none of several, nor does an address that was not mailed stand for another', () => {
    expect(bouncedOf({ failed: [nameless] }, sentTo('grace@example.org', 'max@example.org'))).toEqual([])
    const stranger = { ...nameless, addresses: ['eve@example.net'] }
    expect(bouncedOf({ failed: [stranger] }, sentTo('grace@example.org'))).toEqual([])
  })
})
