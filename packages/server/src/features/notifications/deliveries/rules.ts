import type { AttemptError } from '@waxwing/contract/notifications/webhook-deliveries.ts'
import {
  DELIVERY_MILLISECONDS_MAX,
  DISABLE_AFTER_ATTEMPTS,
  DISABLE_AFTER_EVENTS,
  DISABLE_AFTER_MILLISECONDS,
  FAILURES_UNTIL_FAILING,
  IN_FLIGHT_AT_FIRST,
  IN_FLIGHT_MAX,
  JITTER,
  PROBE_MILLISECONDS,
  PROBE_MILLISECONDS_MAX,
  RETRY_AFTER_MILLISECONDS_MAX,
  SCHEDULE_MILLISECONDS,
  SUCCESSES_PER_STEP,
} from './limits.ts'

/** Health of an endpoint, as its attempts have shown it. Times are milliseconds since 1970, by the database's clock. */
export interface EndpointHealth {
  inFlightMax: number
  /** Successes since `inFlightMax` last grew. */
  acknowledged: number
  /** Failed attempts in a row. */
  failures: number
  /** Failed attempts since the endpoint is failing. */
  probes: number
  /** Time of the next attempt of a failing endpoint. */
  probeAt: number | null
  /** End of the pause that the receiver requested. */
  pausedUntil: number | null
  /** The first failure after the last success. */
  failingSince: number | null
  lastSuccessAt: number | null
  /** Since the last success. */
  failedAttempts: number
  /** Events that failed since then; no more than are needed to decide. */
  failedEventIds: readonly string[]
}

export const NEW_ENDPOINT: EndpointHealth = {
  inFlightMax: IN_FLIGHT_AT_FIRST,
  acknowledged: 0,
  failures: 0,
  probes: 0,
  probeAt: null,
  pausedUntil: null,
  failingSince: null,
  lastSuccessAt: null,
  failedAttempts: 0,
  failedEventIds: [],
}

/** An attempt that has ended. */
export interface EndedAttempt {
  eventId: string
  isTest: boolean
  /** Whether it was made because its endpoint was failing, and not by its own schedule. */
  isProbe: boolean
  /** Earlier attempts that its schedule counted. */
  tries: number
  queuedAt: number
  statusCode: number | null
  error: AttemptError | null
  /** The header `Retry-After` as it was sent. */
  retryAfter: string | null
}

export type DeliveryPlan =
  | { kind: 'acknowledged' }
  | { kind: 'given_up' }
  /** `dueAt` null: as before. */
  | { kind: 'waits'; dueAt: number | null; heldUntil: number | null; tries: number }

export interface OutcomePlan {
  health: EndpointHealth
  delivery: DeliveryPlan
  disabledReason: 'failing' | 'gone' | null
  /** Whether the endpoint was failing and is not any more: everything that waits is due. */
  isRecovered: boolean
}

/** Moments of the database's clock, and chance: a number from 0 to 1. */
export interface Circumstances {
  now: number
  chance(): number
}

export function isFailing({ failures }: Pick<EndpointHealth, 'failures'>): boolean {
  return failures >= FAILURES_UNTIL_FAILING
}

export function isAcknowledged({ statusCode }: Pick<EndedAttempt, 'statusCode'>): boolean {
  return statusCode !== null && statusCode >= 200 && statusCode <= 299
}

/** Decides the consequences of an attempt for its endpoint and for its delivery. */
export function planOutcome(
  health: EndpointHealth,
  attempt: EndedAttempt,
  circumstances: Circumstances,
): OutcomePlan {
  if (isAcknowledged(attempt)) {
    return {
      health: attempt.isTest ? afterTest(health) : afterSuccess(health, circumstances.now),
      delivery: { kind: 'acknowledged' },
      disabledReason: null,
      isRecovered: isFailing(health),
    }
  }
  const holdUntil = heldUntil(attempt, circumstances.now)
  const paused = isBusy(attempt) ? later(health.pausedUntil, holdUntil) : health.pausedUntil
  if (attempt.isTest) {
    const delivery = { kind: 'given_up' } as const
    return { health: { ...health, pausedUntil: paused }, delivery, disabledReason: null, isRecovered: false }
  }
  const failed = { ...afterFailure(health, attempt, circumstances), pausedUntil: paused }
  return {
    health: failed,
    delivery: planFailedDelivery(attempt, holdUntil, circumstances),
    disabledReason: disabledBy(failed, attempt, circumstances.now),
    isRecovered: false,
  }
}

/** A test shows that the endpoint works, and counts for nothing else. */
function afterTest(health: EndpointHealth): EndpointHealth {
  return { ...health, failures: 0, probes: 0, probeAt: null }
}

function afterSuccess(health: EndpointHealth, now: number): EndpointHealth {
  const acknowledged = (health.acknowledged + 1) % SUCCESSES_PER_STEP
  return {
    ...health,
    inFlightMax: Math.min(health.inFlightMax + (acknowledged === 0 ? 1 : 0), IN_FLIGHT_MAX),
    acknowledged,
    failures: 0,
    probes: 0,
    probeAt: null,
    failingSince: null,
    lastSuccessAt: later(health.lastSuccessAt, now),
    failedAttempts: 0,
    failedEventIds: [],
  }
}

function afterFailure(
  health: EndpointHealth,
  attempt: EndedAttempt,
  { now, chance }: Circumstances,
): EndpointHealth {
  const failures = health.failures + 1
  const failing = isFailing({ failures })
  const isFirst = failing && !isFailing(health)
  const probes = isFirst ? 0 : health.probes + (failing && attempt.isProbe ? 1 : 0)
  const pause = Math.min(PROBE_MILLISECONDS * 2 ** Math.min(probes, 30), PROBE_MILLISECONDS_MAX)
  const events = health.failedEventIds
  const isKnown = events.length >= DISABLE_AFTER_EVENTS || events.includes(attempt.eventId)
  return {
    ...health,
    inFlightMax: failing
      ? 1
      : isOverload(attempt)
        ? Math.max(1, Math.floor(health.inFlightMax / 2))
        : health.inFlightMax,
    acknowledged: failing ? 0 : health.acknowledged,
    failures,
    probes,
    probeAt: failing ? now + jittered(pause, chance) : null,
    failingSince: health.failingSince ?? now,
    failedAttempts: health.failedAttempts + 1,
    failedEventIds: isKnown ? events : [...events, attempt.eventId],
  }
}

function planFailedDelivery(
  { tries, isProbe, queuedAt }: EndedAttempt,
  holdUntil: number | null,
  { now, chance }: Circumstances,
): DeliveryPlan {
  const used = isProbe ? tries : tries + 1
  const pause = SCHEDULE_MILLISECONDS[used]
  if (pause === undefined || now - queuedAt >= DELIVERY_MILLISECONDS_MAX) return { kind: 'given_up' }
  const dueAt = isProbe ? holdUntil : Math.max(now + jittered(pause, chance), holdUntil ?? 0)
  return { kind: 'waits', dueAt, heldUntil: holdUntil, tries: used }
}

function disabledBy(
  { failingSince, failedAttempts, failedEventIds }: EndpointHealth,
  { statusCode }: EndedAttempt,
  now: number,
): OutcomePlan['disabledReason'] {
  if (statusCode === 410) return 'gone'
  const isFailingLong = failingSince !== null && now - failingSince >= DISABLE_AFTER_MILLISECONDS
  const isTriedEnough =
    failedAttempts >= DISABLE_AFTER_ATTEMPTS && failedEventIds.length >= DISABLE_AFTER_EVENTS
  return isFailingLong && isTriedEnough ? 'failing' : null
}

/** Failures that fewer attempts at the same time may avoid. */
function isOverload({ statusCode, error }: EndedAttempt): boolean {
  if (error !== null) return error === 'timeout' || error === 'connection_refused'
  return statusCode === 429 || statusCode === 502 || statusCode === 503 || statusCode === 504
}

/** Whether `Retry-After` is about the whole endpoint. */
function isBusy({ statusCode }: EndedAttempt): boolean {
  return statusCode === 429 || statusCode === 503
}

function heldUntil({ retryAfter }: EndedAttempt, now: number): number | null {
  if (retryAfter === null) return null
  // RFC 9110 section 10.2.3: seconds or a date.
  const text = retryAfter.trim()
  const isDate = /^[A-Z][a-z]{2,8}, .{5,40} GMT$/.test(text)
  const at = /^\d{1,9}$/.test(text) ? now + Number(text) * 1_000 : isDate ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at) || at <= now) return null
  return Math.min(at, now + RETRY_AFTER_MILLISECONDS_MAX)
}

function jittered(milliseconds: number, chance: () => number): number {
  return milliseconds * (1 + JITTER * (2 * chance() - 1))
}

function later(one: number | null, other: number | null): number | null {
  return one === null ? other : other === null ? one : Math.max(one, other)
}
