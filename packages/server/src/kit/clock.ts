/** The time as the service sees it. Tests use a clock that they can set. */
export interface Clock {
  /** Milliseconds since 1970, like `Date.now()`. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }
