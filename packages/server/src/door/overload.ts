import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { LogFields, Logger } from '../kit/log.ts'
import { collectGarbage, type MemoryUse } from '../kit/own-memory.ts'
import type { LoadClass } from './load-class.ts'
import { MemoryWatch } from './memory-watch.ts'

const LOOP_DELAY_MAX_MILLISECONDS = 200
/**
 * More than half of the time goes into late iterations when one iteration in five is late. A higher percentile would
 * refuse requests for brief hiccups.
 */
const LATE_PERCENTILE = 80
const POOL_WAIT_MAX_MILLISECONDS = 500
/** Milliseconds for which the event loop must be late without a break before requests are refused. */
const LATE_MILLISECONDS = 2000
const LOOK_MILLISECONDS = 500
/** Each sample wakes the process, so none is taken while the loop does nothing for half of the time: then it is not late. */
const RESOLUTION_MILLISECONDS = 50
const BUSY_SHARE = 0.5
const NANOSECONDS_PER_MILLISECOND = 1e6

/** How much of the delays above each class of requests bears. */
const PATIENCE: Record<LoadClass, number> = { costly: 0.5, read: 1, write: 2 }

/** Whether this process gets more work than it can do. */
export interface Overload extends Disposable {
  /** Whether a request of this class is to be refused. */
  isOverloaded(loadClass: LoadClass): boolean
}

export interface OverloadOptions {
  /** How long the oldest request in the queue for database connections has waited. */
  poolWaitMilliseconds(): number
  /** The memory of this process that is nearest to its limit. */
  readMemory(): MemoryUse
  log: Logger
}

/**
 * Watches the event loop, the queue for database connections, and the memory. Logs at most twice a second that requests
 * are refused, why, and how many.
 */
export function watchOverload({ poolWaitMilliseconds, readMemory, log }: OverloadOptions): Overload {
  const memory = new MemoryWatch({ read: readMemory, collectGarbage, log })
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MILLISECONDS })
  let loopUse = performance.eventLoopUtilization()
  let lookedAt = performance.now()
  let lateSince: number | null = null
  let lateMilliseconds = 0
  let refusedCount = 0

  function look() {
    // Reading and resetting walk through all values that there may be, which would be most of what a look costs.
    const isSampled = delays.count > 0
    lateMilliseconds = isSampled ? delays.percentile(LATE_PERCENTILE) / NANOSECONDS_PER_MILLISECOND : 0
    lateSince = lateMilliseconds > LOOP_DELAY_MAX_MILLISECONDS ? (lateSince ?? lookedAt) : null
    lookedAt = performance.now()
    if (isSampled) delays.reset()
    const used = performance.eventLoopUtilization()
    const isBusy = performance.eventLoopUtilization(used, loopUse).utilization >= BUSY_SHARE
    loopUse = used
    if (isBusy) delays.enable()
    else delays.disable()
    memory.look(lookedAt)
    if (refusedCount > 0) log.warn({ count: refusedCount }, 'Refused requests')
    refusedCount = 0
  }
  const timer = setInterval(look, LOOK_MILLISECONDS).unref()

  /** The shortage of this class: of memory, with how much is used, or of time, with how late it is. Null without one. */
  function findShortage(loadClass: LoadClass): LogFields | null {
    if (memory.isShort(loadClass)) return memory.logFields
    const patience = PATIENCE[loadClass]
    const waited = poolWaitMilliseconds()
    if (waited > patience * POOL_WAIT_MAX_MILLISECONDS)
      return { reason: 'database connections', milliseconds: waited }
    const isLate = lateSince !== null && lookedAt - lateSince >= patience * LATE_MILLISECONDS
    return isLate ? { reason: 'event loop', milliseconds: lateMilliseconds } : null
  }

  return {
    isOverloaded(loadClass) {
      const found = findShortage(loadClass)
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

/** Never reports overload. For tests, which share their process with the service. */
export const neverOverloaded: Overload = { isOverloaded: () => false, [Symbol.dispose]() {} }

/** Seconds after which a refused caller may retry. They are spread, so that not all callers return at once. */
export function overloadRetrySeconds(): number {
  return 1 + Math.floor(Math.random() * 3)
}
