import fc from '../../../../test/property.ts'
import { describe, expect, test } from 'vitest'
import type { RecipientOutcome, Refusal } from '../../../providers/sending.ts'
import { planGivenUp, planOutcome, planTrouble, planUtf8 } from './rules.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NOW = new Date('2026-03-01T12:00:00Z')
const at = (milliseconds: number) => new Date(NOW.getTime() + milliseconds)

const refusal = (change: Partial<Refusal>): Refusal => ({
  of: 'recipient',
  isPermanent: true,
  isTooLarge: false,
  status: '5.1.1',
  message: 'no such user',
  ...change,
})
const accepted = (address: string): RecipientOutcome => ({ address, refusal: null })
const gone = (address: string): RecipientOutcome => ({ address, refusal: refusal({}) })
const later = (address: string): RecipientOutcome => ({
  address,
  refusal: refusal({ isPermanent: false, status: '4.2.0', message: 'greylisted' }),
})
const fresh = { isSent: false, rejected: [], sendAt: NOW, datedAt: NOW, attempts: 0 }
const over = { ...fresh, sendAt: at(-48 * HOUR), datedAt: at(-48 * HOUR), attempts: 9 }
const rejectedGone = { address: 'b', status: '5.1.1', message: 'no such user' }
const rejectedLater = { address: 'c', status: '4.2.0', message: 'greylisted' }

describe('an outcome', () => {
  test.each([
    [
      'all accepted: sent',
      fresh,
      [accepted('a'), accepted('b')],
      { status: 'sent', waiting: [], rejected: [], dueAt: null, error: null },
    ],
    [
      'one accepted, one refused for good: sent, the other is rejected',
      fresh,
      [accepted('a'), gone('b')],
      { status: 'sent', waiting: [], rejected: [rejectedGone], dueAt: null },
    ],
    [
      'one accepted, one put off: sent, and only the other is tried again',
      fresh,
      [accepted('a'), later('c')],
      { status: 'sent', waiting: ['c'], rejected: [], dueAt: at(MINUTE) },
    ],
    [
      'all refused for good: failed',
      fresh,
      [gone('b')],
      { status: 'failed', rejected: [rejectedGone], dueAt: null, error: { reason: 'provider_rejected' } },
    ],
    [
      'one refused for good, one put off: queued, and only the other is tried again',
      fresh,
      [gone('b'), later('c')],
      {
        status: 'queued',
        waiting: ['c'],
        rejected: [rejectedGone],
        dueAt: at(MINUTE),
        error: { reason: 'provider_unavailable' },
      },
    ],
    [
      'put off for the last time: failed',
      over,
      [later('c')],
      { status: 'failed', waiting: [], rejected: [rejectedLater], dueAt: null },
    ],
    [
      'the rest of a sent message put off for the last time: sent, the rest is rejected',
      { ...over, isSent: true, rejected: [rejectedGone] },
      [later('c')],
      { status: 'sent', waiting: [], rejected: [rejectedGone, rejectedLater], dueAt: null },
    ],
    [
      'refused for its size: failed with that reason',
      fresh,
      [{ address: 'a', refusal: refusal({ of: 'message', isTooLarge: true, status: '5.3.4' }) }],
      { status: 'failed', error: { reason: 'attachments_too_large' } },
    ],
  ] as const)('%s', (_, entry, outcomes, expected) => {
    expect(planOutcome(entry, outcomes, NOW)).toMatchObject(expected)
  })

  test('accounts for every recipient exactly once, and never tries an accepted one again', () => {
    const outcome = fc.constantFrom(accepted, gone, later)
    fc.assert(
      fc.property(
        fc.array(outcome, { minLength: 1, maxLength: 20 }),
        fc.boolean(),
        fc.integer({ min: 0, max: 60 }),
        (makers, isSent, hoursAgo) => {
          const outcomes = makers.map((make, index) => make(`r${index}`))
          const sendAt = at(-hoursAgo * HOUR)
          const entry = { isSent, rejected: [], sendAt, datedAt: sendAt, attempts: 3 }
          const next = planOutcome(entry, outcomes, NOW)
          const taken = outcomes.flatMap(({ address, refusal: no }) => (no ? [] : [address]))
          const lost = next.rejected.map(({ address }) => address)
          expect([...taken, ...lost, ...next.waiting].toSorted()).toEqual(
            outcomes.map(({ address }) => address).toSorted(),
          )
          expect(next.dueAt === null).toBe(next.waiting.length === 0)
          if (isSent || taken.length > 0) expect(next.status).toBe('sent')
          else expect(next.status).toBe(next.waiting.length > 0 ? 'queued' : 'failed')
        },
      ),
    )
  })
})

describe('trouble of the account or its server', () => {
  const error = { reason: 'provider_unavailable', message: 'no connection' } as const
  test.each([
    ['is tried again', fresh, { status: 'queued', waiting: ['a'], dueAt: at(MINUTE) }],
    ['fails after 48 hours', over, { status: 'failed', waiting: [], dueAt: null, rejected: [] }],
    [
      'ends the rest of a sent message after 48 hours',
      { ...over, isSent: true },
      {
        status: 'sent',
        waiting: [],
        dueAt: null,
        rejected: [{ address: 'a', status: '4.0.0', message: 'no connection' }],
      },
    ],
  ] as const)('%s', (_, entry, expected) => {
    const trouble = { now: NOW, error, retryAfterSeconds: null }
    expect(planTrouble(entry, ['a'], trouble)).toMatchObject({ ...expected, error })
  })

  test('that is permanent fails at once', () => {
    expect(planGivenUp(fresh, ['a'], error)).toMatchObject({ status: 'failed', rejected: [], error })
  })
})

describe('a server without SMTPUTF8', () => {
  const all = ['ada@example.org', 'жук@example.org']
  test.each([
    [
      'reaches those with ASCII addresses',
      'ada@example.org',
      false,
      ['ada@example.org'],
      ['жук@example.org'],
    ],
    ['reaches nobody if the sender is beyond ASCII', 'жук@example.org', false, [], all],
    ['matters to nobody if it has the extension', 'жук@example.org', true, all, []],
  ])('%s', (_, from, hasSmtpUtf8, to, refused) => {
    const plan = planUtf8({ from, to: all }, hasSmtpUtf8)
    expect(plan.to).toEqual(to)
    expect(plan.refused.map(({ address }) => address)).toEqual(refused)
    for (const { refusal: no } of plan.refused)
      expect(no).toMatchObject({ isPermanent: true, status: '5.6.7' })
  })
})
