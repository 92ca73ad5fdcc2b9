/** Given as the reason: without one, each abort would make an error with a stack. */
const FIRED = Symbol('fired')

/** Ends a wait early. If it is fired while nobody waits, the next wait ends at once. */
export class Nudge {
  #controller = new AbortController()

  fire(): void {
    this.#controller.abort(FIRED)
  }

  /** The signal for the next wait. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Resets the nudge. Called when the work it announced begins. */
  clear(): void {
    if (this.#controller.signal.aborted) this.#controller = new AbortController()
  }
}

/**
 * A signal that aborts with the first of these, until it is disposed. Thousands of idle accounts keep one each, and
 * `AbortSignal.any` keeps several objects more for each signal.
 */
export function firstOf(...signals: AbortSignal[]): Disposable & { signal: AbortSignal } {
  const first = new AbortController()
  const end = () => first.abort(signals.find(({ aborted }) => aborted)?.reason)
  if (signals.some(({ aborted }) => aborted)) end()
  for (const signal of signals) signal.addEventListener('abort', end, { once: true })
  return {
    signal: first.signal,
    [Symbol.dispose]() {
      for (const signal of signals) signal.removeEventListener('abort', end)
    },
  }
}

/** Waits, or returns early when a signal aborts. Returns at once if the time has passed. */
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

/** Waits for the work until the signal aborts. Then it rejects, and the outcome of the work is ignored. */
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
