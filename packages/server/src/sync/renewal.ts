/** When connections are renewed. */
export interface RenewalPace {
  /** The usual age of a connection that is renewed. */
  everySeconds: number
  /** The least age of one that is renewed because something speaks against it. */
  soonestSeconds: number
}

export const RENEWAL_PACE: RenewalPace = { everySeconds: 3_600, soonestSeconds: 30 }

/** Connections that were opened together are not renewed together. */
const SPREAD = 1 / 3

/**
 * The time at which a connection over which an account is watched is due to be renewed. The data that a server shows
 * to a session may be out of date for as long as the session lasts, and no command in that session reveals it.
 */
export class Renewal {
  readonly #soonestAt: number
  #dueAt: number

  /** @param random from 0 to 1 */
  constructor(
    { everySeconds, soonestSeconds }: RenewalPace,
    now = performance.now(),
    random = Math.random(),
  ) {
    this.#soonestAt = now + soonestSeconds * 1_000
    this.#dueAt = now + everySeconds * 1_000 * (1 + SPREAD * (2 * random - 1))
  }

  /** Somebody asks for it, or the connection has shown that it is not to be relied upon. */
  ask(): void {
    this.#dueAt = Math.min(this.#dueAt, this.#soonestAt)
  }

  /** 0 if it is due. */
  untilDueSeconds(now = performance.now()): number {
    return Math.max(0, (this.#dueAt - now) / 1_000)
  }
}
