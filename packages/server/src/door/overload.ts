import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { OperationMeta } from '@waxwing/contract/operation.ts'
import type { Logger } from '../kit/log.ts'

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

/**
 * How much of the delays above each class of requests bears. What costs much and can wait is refused first, and what
 * changes something or sends is refused last, since a refused reader usually comes again by itself.
 */
const PATIENCE = { costly: 0.5, read: 1, write: 2 } as const
export type LoadClass = keyof typeof PATIENCE

/** The class of an operation. */
export function loadClassOf({
  method,
  isShedFirst,
}: Pick<OperationMeta, 'method' | 'isShedFirst'>): LoadClass {
  if (isShedFirst) return 'costly'
  return method === 'GET' ? 'read' : 'write'
}

/** Whether this process gets more work than it can do. */
export interface Overload extends Disposable {
  /** Whether a request of this class is to be refused. */
  isOverloaded(loadClass: LoadClass): boolean
}

/**
 * Watches the event loop and the queue for database connections. `poolWaitMilliseconds` returns how long the oldest
 * request in the queue has waited. Logs at most twice a second that requests are refused, why, and how many.
 */
export function watchOverload(poolWaitMilliseconds: () => number, log: Logger): Overload {
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
    if (refusedCount > 0) log.warn({ count: refusedCount }, 'Refused requests')
    refusedCount = 0
  }
  const timer = setInterval(look, LOOK_MILLISECONDS).unref()

  /** The resource that is overloaded beyond this patience, and how late it is; or null. */
  function overload(patience: number): { reason: string; milliseconds: number } | null {
    const waited = poolWaitMilliseconds()
    if (waited > patience * POOL_WAIT_MAX_MILLISECONDS)
      return { reason: 'database connections', milliseconds: waited }
    const isLate = lateSince !== null && lookedAt - lateSince >= patience * LATE_MILLISECONDS
    return isLate ? { reason: 'event loop', milliseconds: lateMilliseconds } : null
  }

  return {
    isOverloaded(loadClass) {
      const found = overload(PATIENCE[loadClass])
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
