import { describe, expect, test } from 'vitest'
import {
  type EndedAttempt,
  type EndpointHealth,
  isFailing,
  NEW_ENDPOINT,
  type OutcomePlan,
  planOutcome,
} from './rules.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = Date.parse('2026-03-01T12:00:00.000Z')
const IN_THE_MIDDLE = 0.5

function attempt(own: Partial<EndedAttempt> = {}): EndedAttempt {
  return {
    eventId: '1',
    isTest: false,
    isProbe: false,
    tries: 0,
    queuedAt: NOW,
    statusCode: own.error ? null : 500,
    error: null,
    retryAfter: null,
    ...own,
  }
}

function plan(
  health: Partial<EndpointHealth>,
  ended: EndedAttempt,
  { now = NOW, chance = IN_THE_MIDDLE } = {},
): OutcomePlan {
  return planOutcome({ ...NEW_ENDPOINT, ...health }, ended, { now, chance: () => chance })
}

const FAILING = { failures: 5, inFlightMax: 1, failingSince: NOW - HOUR, failedAttempts: 5 }

describe('the schedule of a delivery', () => {
  test.each([
    [0, 5 * SECOND],
    [1, 5 * MINUTE],
    [2, 30 * MINUTE],
    [3, 2 * HOUR],
    [4, 5 * HOUR],
    [5, 10 * HOUR],
    [6, 14 * HOUR],
    [7, 20 * HOUR],
    [8, 24 * HOUR],
  ])('after %i earlier attempts pauses for %i ms, give or take 15 %%', (tries, pause) => {
    for (const [chance, share] of [
      [0, 0.85],
      [IN_THE_MIDDLE, 1],
      [1, 1.15],
    ] as const) {
      const { delivery } = plan({}, attempt({ tries }), { chance })
      expect(delivery).toEqual({
        kind: 'waits',
        dueAt: NOW + pause * share,
        heldUntil: null,
        tries: tries + 1,
      })
    }
  })

  test('gives up after the tenth attempt', () => {
    expect(plan({}, attempt({ tries: 9 })).delivery).toEqual({ kind: 'given_up' })
  })

  test.each([
    ['before 90 hours', 90 * HOUR - 1, 'waits'],
    ['from 90 hours', 90 * HOUR, 'given_up'],
  ])('%s: %i ms after it was queued it %s', (_, age, kind) => {
    expect(plan({}, attempt({ tries: 2, queuedAt: NOW - age })).delivery.kind).toBe(kind)
    const probe = attempt({ tries: 2, queuedAt: NOW - age, isProbe: true })
    expect(plan(FAILING, probe).delivery.kind).toBe(kind)
  })

  test.each([199, 300, 301, 304, 307, 400, 404, 500])('counts the status %i as a failure', statusCode => {
    expect(plan({}, attempt({ statusCode })).delivery.kind).toBe('waits')
  })

  test.each([200, 201, 204, 299])('counts the status %i as an acknowledgement', statusCode => {
    expect(plan({}, attempt({ statusCode })).delivery).toEqual({ kind: 'acknowledged' })
  })
})

describe('a failing endpoint', () => {
  test('is one whose last five attempts failed', () => {
    let health: EndpointHealth = NEW_ENDPOINT
    for (let failed = 1; failed <= 5; failed++) {
      expect(isFailing(health)).toBe(false)
      ;({ health } = plan(health, attempt({ eventId: String(failed) })))
    }
    expect(isFailing(health)).toBe(true)
    expect(health).toMatchObject({ inFlightMax: 1, probeAt: NOW + 30 * SECOND, failingSince: NOW })
  })

  test('is probed after 30 s, then after twice as long each time, up to 15 min', () => {
    let { health } = plan({ failures: 4 }, attempt())
    const pauses = [health.probeAt! - NOW]
    for (let probe = 0; probe < 7; probe++) {
      ;({ health } = plan(health, attempt({ isProbe: true })))
      pauses.push(health.probeAt! - NOW)
    }
    expect(pauses.map(pause => pause / SECOND)).toEqual([30, 60, 120, 240, 480, 900, 900, 900])
  })

  test('leaves the schedules of its deliveries alone', () => {
    const { delivery } = plan(FAILING, attempt({ isProbe: true, tries: 3 }))
    expect(delivery).toEqual({ kind: 'waits', dueAt: null, heldUntil: null, tries: 3 })
  })

  test('counts an attempt that was under way by its own schedule, and is not probed later for it', () => {
    const { delivery, health } = plan({ ...FAILING, probes: 2 }, attempt({ tries: 3 }))
    expect(delivery).toMatchObject({ tries: 4 })
    expect(health.probes).toBe(2)
  })

  test.each([
    ['an event', {}],
    ['a test', { isTest: true }],
  ])('works again after the first success, of %s, and grows from one attempt at a time', (_, own) => {
    const { health, isRecovered } = plan({ ...FAILING, probeAt: NOW }, attempt({ ...own, statusCode: 200 }))
    expect(isRecovered).toBe(true)
    expect(health).toMatchObject({ failures: 0, probes: 0, probeAt: null, inFlightMax: 1 })
  })
})

describe('a test', () => {
  test('counts neither for a failure nor for a success', () => {
    const health = {
      ...NEW_ENDPOINT,
      failingSince: NOW - DAY,
      failedAttempts: 2,
      lastSuccessAt: NOW - 2 * DAY,
    }
    for (const ended of [
      { statusCode: 200 },
      { statusCode: 500 },
      { error: 'timeout' },
      { statusCode: 410 },
    ] as const) {
      const planned = plan(health, attempt({ isTest: true, ...ended }))
      expect(planned.health).toEqual(health)
      expect(planned.disabledReason).toBeNull()
    }
  })
})

describe('attempts at the same time', () => {
  test('grow by one with each eight successes, up to 64', () => {
    let health: EndpointHealth = NEW_ENDPOINT
    for (let success = 0; success < 8 * 100; success++) {
      expect(health.inFlightMax).toBe(Math.min(8 + Math.floor(success / 8), 64))
      ;({ health } = plan(health, attempt({ statusCode: 200 })))
    }
  })

  test.each([
    [{ error: 'timeout' }, 4],
    [{ error: 'connection_refused' }, 4],
    [{ statusCode: 429 }, 4],
    [{ statusCode: 502 }, 4],
    [{ statusCode: 503 }, 4],
    [{ statusCode: 504 }, 4],
    [{ statusCode: 500 }, 8],
    [{ statusCode: 404 }, 8],
    [{ error: 'connection_reset' }, 8],
    [{ error: 'tls_failed' }, 8],
  ] as const)('after %o are %i instead of 8', (ended, inFlightMax) => {
    expect(plan({}, attempt(ended)).health.inFlightMax).toBe(inFlightMax)
  })

  test('are never fewer than one', () => {
    expect(plan({ inFlightMax: 1 }, attempt({ error: 'timeout' })).health.inFlightMax).toBe(1)
  })
})

describe('Retry-After', () => {
  const afterHours = (hours: number) => new Date(NOW + hours * HOUR).toUTCString()

  test.each([
    ['3600', HOUR],
    [' 120 ', 2 * MINUTE],
    [afterHours(3), 3 * HOUR],
    ['999999', DAY],
    [afterHours(100), DAY],
  ])('of %o holds a delivery for %i ms', (retryAfter, pause) => {
    const { delivery, health } = plan({}, attempt({ retryAfter }))
    expect(delivery).toMatchObject({ dueAt: NOW + pause, heldUntil: NOW + pause })
    expect(health.pausedUntil).toBeNull()
  })

  test.each([429, 503])('holds the whole endpoint with %i', statusCode => {
    expect(plan({}, attempt({ statusCode, retryAfter: '60' })).health.pausedUntil).toBe(NOW + MINUTE)
    const longer = { pausedUntil: NOW + HOUR }
    expect(plan(longer, attempt({ statusCode, retryAfter: '60' })).health.pausedUntil).toBe(NOW + HOUR)
  })

  test.each(['', '-5', 'soon', '1e9', afterHours(-1), '0', '12:00', '2026-03-02'])(
    'is ignored if it is %o, or shorter than the schedule',
    retryAfter => {
      expect(plan({}, attempt({ retryAfter })).delivery).toMatchObject({ dueAt: NOW + 5 * SECOND })
    },
  )
})

describe('disabling', () => {
  const ready = { failingSince: NOW - 5 * DAY, failedAttempts: 19, failedEventIds: ['1', '2', '3'] }

  test('happens at once after 410', () => {
    expect(plan({}, attempt({ statusCode: 410 })).disabledReason).toBe('gone')
  })

  test('happens after five days of failures, 20 attempts and 3 events', () => {
    expect(plan(ready, attempt({ eventId: '3' })).disabledReason).toBe('failing')
  })

  test.each([
    ['a shorter time', { failingSince: NOW - 5 * DAY + 1 }],
    ['fewer attempts', { failedAttempts: 18 }],
    ['fewer events', { failedEventIds: ['2', '3'] }],
  ])('does not happen after %s', (_, own) => {
    expect(plan({ ...ready, ...own }, attempt({ eventId: '3' })).disabledReason).toBeNull()
  })

  test('starts again with the first failure after a success', () => {
    const { health } = plan(ready, attempt({ statusCode: 200 }))
    expect(health).toMatchObject({
      failingSince: null,
      failedAttempts: 0,
      failedEventIds: [],
      lastSuccessAt: NOW,
    })
  })
})
