/** Runtimes fire a timer of more milliseconds than this at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** Waits; rejects with the reason of the signal as soon as it aborts. */
export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      },
      Math.min(milliseconds, TIMER_MS_MAX),
    )
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** A signal that aborts with another one, or when time is up. */
export interface Limited {
  signal: AbortSignal
  readonly isOver: boolean
  /** Begins the time anew. */
  renew(): void
  /** Ends the limit of time. */
  stopTimer(): void
  /** Ends the limit of time and the tie to the other signal. */
  end(): void
  /** The value of a promise, which nothing can end, unless the signal aborts before. */
  race<T>(promise: Promise<T>): Promise<T>
}

export function underSignal(outer: AbortSignal | undefined, timeoutMs: number): Limited {
  const controller = new AbortController()
  let isOver = false
  const onAbort = () => controller.abort(outer?.reason)
  const begin = () =>
    setTimeout(
      () => {
        isOver = true
        controller.abort()
      },
      Math.min(timeoutMs, TIMER_MS_MAX),
    )
  let timer = begin()
  if (outer?.aborted) onAbort()
  outer?.addEventListener('abort', onAbort, { once: true })
  return {
    signal: controller.signal,
    get isOver() {
      return isOver
    },
    renew() {
      clearTimeout(timer)
      timer = begin()
    },
    stopTimer: () => clearTimeout(timer),
    end() {
      clearTimeout(timer)
      outer?.removeEventListener('abort', onAbort)
    },
    race: promise =>
      new Promise((resolve, reject) => {
        const onEnd = () => reject(controller.signal.reason)
        if (controller.signal.aborted) onEnd()
        controller.signal.addEventListener('abort', onEnd, { once: true })
        promise.then(resolve, reject)
      }),
  }
}

/** A signal that aborts with either of two. The second one must abort in the end, which unties both. */
export function tied(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  if (one === undefined) return other
  const controller = new AbortController()
  const onAbort = () => {
    one.removeEventListener('abort', onAbort)
    other.removeEventListener('abort', onAbort)
    controller.abort(one.aborted ? one.reason : other.reason)
  }
  if (one.aborted || other.aborted) onAbort()
  else for (const each of [one, other]) each.addEventListener('abort', onAbort)
  return controller.signal
}
