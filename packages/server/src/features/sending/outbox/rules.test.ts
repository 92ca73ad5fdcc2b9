import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RecipientOutcome, Refusal } from '../../../providers/sending.ts'
import {
  planCopySearchSeconds,
  planGivenUp,
  planLookUpSeconds,
  planOutcome,
  planPauseSeconds,
  planRetry,
  planSendTime,
  planTrouble,
  planUtf8,
} from './rules.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = new Date('2026-03-01T12:00:00Z')
const at = (milliseconds: number) => new Date(NOW.getTime() + milliseconds)

describe('the time of a send', () => {
  test.each([
    ['now', null, 0, 0],
    ['after the time in which it can be undone', null, 30, 30_000],
    ['as scheduled', DAY, 30, DAY],
    ['after the time in which it can be undone, if it is scheduled before', 10_000, 30, 30_000],
    ['now, if it was scheduled for less than a minute ago', -60_000, 0, 0],
    ['in 365 days', 365 * DAY, 0, 365 * DAY],
  ])('is %s', (_, sendAt, undo, expected) => {
    const planned = planSendTime(NOW, sendAt === null ? null : at(sendAt), undo)
    expect(planned).toEqual(at(Math.max(expected, sendAt ?? expected)))
  })

  test.each([
    ['more than a minute ago', -60_001],
    ['more than 365 days ahead', 365 * DAY + 1],
  ])('is refused %s', (_, sendAt) => {
    expect(planSendTime(NOW, at(sendAt), 0)).toMatch(/must be at most/)
  })
})

describe('retries', () => {
  test('come after 1, 5, 15 and 60 minutes, 3, 6, 12 and 24 hours, and the last at 48 hours', () => {
    const gaps: number[] = []
    let now = NOW
    for (let attempts = 1; ; attempts++) {
      const next = planRetry({ now, sendAt: NOW, datedAt: NOW, attempts, retryAfterSeconds: null })
      if (next === null) break
      gaps.push((next.getTime() - now.getTime()) / MINUTE)
      now = next
    }
    expect(gaps).toEqual([1, 5, 15, 60, 180, 360, 720, 1_440, 48 * 60 - (1 + 5 + 15 + 60 + 2_700)])
    expect(now).toEqual(at(48 * HOUR))
  })

  test.each([
    ['a longer wait that the server names counts', 7_200, 2 * HOUR],
    ['a shorter one does not', 5, MINUTE],
    ['a wait of more than a day is cut', 10 * 86_400, DAY],
  ])('%s', (_, retryAfterSeconds, expected) => {
    expect(planRetry({ now: NOW, sendAt: NOW, datedAt: NOW, attempts: 1, retryAfterSeconds })).toEqual(
      at(expected),
    )
  })

  test.each([
    ['at its first attempt, if that came late: it is tried again', 72, 0, MINUTE],
    ['at its first attempt, up to the last one', 96, 47.5, HOUR / 2],
    ['at its first attempt, and end 48 hours later', 96, 48, null],
    ['when it is due, if it was moved after an attempt', 1, 72, DAY],
  ])('begin to count %s', (_, dueHoursAgo, datedHoursAgo, expected) => {
    const [sendAt, datedAt] = [at(-dueHoursAgo * HOUR), at(-datedHoursAgo * HOUR)]
    const planned = planRetry({
      now: NOW,
      sendAt,
      datedAt,
      attempts: datedHoursAgo === 0 ? 1 : 9,
      retryAfterSeconds: null,
    })
    expect(planned).toEqual(expected === null ? null : at(expected))
  })

  test('pauses of an account follow the same schedule', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7, 8, 9, 100].map(count => planPauseSeconds(count, null) / 60)
    expect(pauses).toEqual([1, 5, 15, 60, 180, 360, 720, 1_440, 1_440, 1_440])
    expect(planPauseSeconds(1, 600)).toBe(600)
  })
})

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

test('looks an unknown outcome up after 5, 15 and 60 seconds, 5, 15 and 30 minutes', () => {
  let seconds = 0
  const times = [0, 1, 2, 3, 4, 5].map(looks => (seconds += planLookUpSeconds(looks)!))
  expect(times).toEqual([5, 15, 60, 300, 900, 1_800])
  expect(planLookUpSeconds(6)).toBe(null)
})

test('searches for a copy twice, and longer where the server was seen to file copies', () => {
  expect([1, 2].map(count => planCopySearchSeconds(count, false))).toEqual([5, null])
  expect([1, 2, 3, 4].map(count => planCopySearchSeconds(count, true))).toEqual([5, 55, 240, null])
})
