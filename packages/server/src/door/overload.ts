import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Logger } from '../kit/log.ts'

const LOOP_DELAY_MAX_MILLISECONDS = 200
/** One turn of five is late when more than half of the time goes into late turns. A higher one would refuse for hiccups. */
const LATE_PERCENTILE = 80
const POOL_WAIT_MAX_MILLISECONDS = 500
/** For so long the event loop has to be late at every look. */
const LATE_MILLISECONDS = 2000
const LOOK_MILLISECONDS = 500
/** Each look wakes the process. */
const RESOLUTION_MILLISECONDS = 50
const NANOSECONDS_PER_MILLISECOND = 1e6

/** Whether this process has more to do than it gets done. */
export interface Overload extends Disposable {
  isOverloaded(): boolean
}

/**
 * Watches the event loop and what waits for a connection of the database. `poolWaitMilliseconds` tells how long the
 * oldest of those has waited. Says in the log that requests are refused, why, and how many, at most twice a second.
 */
export function watchOverload(poolWaitMilliseconds: () => number, log: Logger): Overload {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MILLISECONDS })
  delays.enable()
  let lookedAt = performance.now()
  let lateSince: number | null = null
  let lateMilliseconds = 0
  let refusedCount = 0

  function look() {
    lateMilliseconds = delays.percentile(LATE_PERCENTILE) / NANOSECONDS_PER_MILLISECOND
    lateSince = lateMilliseconds > LOOP_DELAY_MAX_MILLISECONDS ? (lateSince ?? lookedAt) : null
    lookedAt = performance.now()
    delays.reset()
    if (refusedCount > 0) log.warn({ count: refusedCount }, 'Refused requests')
    refusedCount = 0
  }
  const timer = setInterval(look, LOOK_MILLISECONDS).unref()

  /** What there is too much of, and how late it is. */
  function overload(): { reason: string; milliseconds: number } | null {
    const waited = poolWaitMilliseconds()
    if (waited > POOL_WAIT_MAX_MILLISECONDS) return { reason: 'database connections', milliseconds: waited }
    const isLate = lateSince !== null && lookedAt - lateSince >= LATE_MILLISECONDS
    return isLate ? { reason: 'event loop', milliseconds: lateMilliseconds } : null
  }

  return {
    isOverloaded() {
      const found = overload()
      if (!found) return false
      if (refusedCount === 0) log.warn(found, 'Overloaded: refusing requests')
      refusedCount += 1
      return true
    },
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
