/** The time as the service sees it. Tests hand in one that they can turn. */
export interface Clock {
  /** Milliseconds since 1970, as of `Date.now()`. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }
