const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Pauses before the attempts of a delivery. */
export const SCHEDULE_MILLISECONDS = [
  0,
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const
/**
 * Each pause is up to this share longer or shorter, so that endpoints that failed together do not come back together.
 */
export const JITTER = 0.15
/** A delivery that waits for longer is given up when its endpoint fails again. */
export const DELIVERY_MILLISECONDS_MAX = 90 * HOUR

/** Failed attempts in a row after which an endpoint is failing, and the pauses between its attempts from then on. */
export const FAILURES_UNTIL_FAILING = 5
export const PROBE_MILLISECONDS = 30 * SECOND
export const PROBE_MILLISECONDS_MAX = 15 * MINUTE
export const RETRY_AFTER_MILLISECONDS_MAX = 24 * HOUR

/** An endpoint is disabled when all three are reached without a success. */
export const DISABLE_AFTER_MILLISECONDS = 5 * DAY
export const DISABLE_AFTER_ATTEMPTS = 20
export const DISABLE_AFTER_EVENTS = 3

/** Attempts of an endpoint that run at once: at first, at most, and how many successes allow one more. */
export const IN_FLIGHT_AT_FIRST = 8
export const IN_FLIGHT_MAX = 64
export const SUCCESSES_PER_STEP = 8
/** Time of an answer up to which an endpoint gets deliveries claimed ahead, as many as it may have in flight. */
export const QUICK_MILLISECONDS = 250
/** A delivery that was claimed ahead and is not attempted within this time is claimed again. */
export const AHEAD_MILLISECONDS_MAX = 1_000
/** For one tenant and target host. */
export const IN_FLIGHT_PER_HOST = 128
/** The share of a process's connections that a tenant may hold while another tenant has endpoints. */
export const TENANT_SHARE = 1 / 4

/** Covers the name, the connection, TLS, the status and the part of the body that is read. */
export const ATTEMPT_SECONDS = 10
export const EXCERPT_CHARACTERS_MAX = 1_000

/** Events that one replay may queue, and that its range may hold. */
export const REPLAYED_EVENTS_MAX = 100_000
export const REPLAY_RANGE_EVENTS_MAX = 1_000_000

/** Deliveries that one statement gives up, makes due or deletes. */
export const DELIVERIES_AT_ONCE = 20_000
