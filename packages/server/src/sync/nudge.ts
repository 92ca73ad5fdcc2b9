/** Ends a wait early. Nudged while nobody waits, it ends the next wait at once. */
export class Nudge {
  #controller = new AbortController()

  fire(): void {
    this.#controller.abort()
  }

  /** The signal of the coming wait. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** What was nudged for is being looked at. */
  clear(): void {
    if (this.#controller.signal.aborted) this.#controller = new AbortController()
  }
}

/** Waits, or returns early when a signal aborts. */
export function pause(milliseconds: number, ...signals: AbortSignal[]): Promise<void> {
  return new Promise(resolve => {
    const any = AbortSignal.any(signals)
    if (any.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      any.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    any.addEventListener('abort', end, { once: true })
  })
}
