import { errorOf, type WaxwingError } from './errors.ts'

/** Codes with which Node.js and Bun say that a connection was never made. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
  'FailedToOpenSocket',
])

/** The error of a request that had no answer. */
export function failureOf(error: unknown, isTimeout: boolean): WaxwingError {
  if (isTimeout) {
    return errorOf({ code: 'timeout', message: 'No answer came in time.', outcome: 'unknown', cause: error })
  }
  const [reason = error] = causes(error).slice(-1)
  const why = reason instanceof Error && reason.message !== '' ? reason.message : codeOf(reason)
  return errorOf({
    code: 'no_connection',
    message: `The service cannot be reached: ${why || 'the connection failed'}.`,
    outcome: causes(error).some(isNeverConnected) ? 'not_applied' : 'unknown',
    cause: error,
  })
}

function causes(error: unknown): unknown[] {
  const found: unknown[] = []
  for (let at = error; at !== undefined && at !== null && found.length < 5;) {
    found.push(at)
    at = at instanceof Error ? at.cause : undefined
  }
  return found
}

function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : ''
  return typeof code === 'string' ? code : ''
}

/** Deno says it in words. A browser does not say it at all. */
function isNeverConnected(error: unknown): boolean {
  const code = codeOf(error)
  if (NEVER_CONNECTED.has(code)) return true
  // These end connections that were there, too.
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH')
    return error instanceof Error && 'syscall' in error && error.syscall === 'connect'
  return error instanceof Error && error.message.includes('client error (Connect)')
}

/** More would be taken for nothing. */
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

/** A key of 128 random bits. Pages over plain http have `getRandomValues`, but no `randomUUID`. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}
