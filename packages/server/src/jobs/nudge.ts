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

/** Waits, or returns early when a signal aborts. A time that has passed is no wait. */
export function pause(milliseconds: number, ...signals: AbortSignal[]): Promise<void> {
  return new Promise(resolve => {
    const any = AbortSignal.any(signals)
    if (any.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      any.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, Math.max(0, milliseconds))
    any.addEventListener('abort', end, { once: true })
  })
}

/** Waits for the work, but no longer than until the signal aborts: then it rejects, and the work's outcome is ignored. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const end = () => reject(signal.reason)
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
