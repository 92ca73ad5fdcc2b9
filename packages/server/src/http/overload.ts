import { monitorEventLoopDelay } from 'node:perf_hooks'

const LOOP_DELAY_MAX_MILLISECONDS = 200
const POOL_WAIT_MAX_MILLISECONDS = 500
/** For so long the event loop has to be late at every look. */
const LATE_MILLISECONDS = 2000
const LOOK_MILLISECONDS = 500
const RESOLUTION_MILLISECONDS = 20
const NANOSECONDS_PER_MILLISECOND = 1e6

/** Whether this process has more to do than it gets done. */
export interface Overload extends Disposable {
  isOverloaded(): boolean
}

/**
 * Watches the event loop and what waits for a connection of the database. `poolWaitMilliseconds` tells how long the
 * oldest of those has waited.
 */
export function watchOverload(poolWaitMilliseconds: () => number): Overload {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MILLISECONDS })
  delays.enable()
  let lookedAt = performance.now()
  let lateSince: number | null = null
  const timer = setInterval(() => {
    const isLate = delays.percentile(99) / NANOSECONDS_PER_MILLISECOND > LOOP_DELAY_MAX_MILLISECONDS
    lateSince = isLate ? (lateSince ?? lookedAt) : null
    lookedAt = performance.now()
    delays.reset()
  }, LOOK_MILLISECONDS).unref()
  const isLate = () => lateSince !== null && lookedAt - lateSince >= LATE_MILLISECONDS
  return {
    isOverloaded: () => isLate() || poolWaitMilliseconds() > POOL_WAIT_MAX_MILLISECONDS,
    [Symbol.dispose]() {
      clearInterval(timer)
      delays.disable()
    },
  }
}

/** For tests, which share their process with what they test. */
export const neverOverloaded: Overload = { isOverloaded: () => false, [Symbol.dispose]() {} }

/** Seconds after which a refused caller comes again: spread, so that not all of them come at once. */
export function overloadRetrySeconds(): number {
  return 1 + Math.floor(Math.random() * 3)
}
