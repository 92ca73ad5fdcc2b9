/** The time of the sandbox: that of the machine, plus what it was turned by. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Moves the clock forwards, or backwards if negative, and calls every listener. */
  turn(milliseconds: number): void
  /** Calls a function after each turn, for work that is due by the new time. */
  onTurn(listener: () => void): void
}

/** `now` is the time to begin with; without it the clock shows the machine's. */
export function openClock(now?: number): Clock {
  let offset = now === undefined ? 0 : now - Date.now()
  const listeners: Array<() => void> = []
  return {
    now: () => Date.now() + offset,
    turn(milliseconds) {
      offset += milliseconds
      for (const listener of listeners) listener()
    },
    onTurn: listener => void listeners.push(listener),
  }
}
