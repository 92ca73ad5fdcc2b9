import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { OperationMeta } from '@waxwing/contract/operation.ts'
import type { LogFields, Logger } from '../kit/log.ts'
import { collectGarbage, type OwnMemory } from '../kit/own-memory.ts'

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
/** The part of the memory limit beyond which each class is refused. */
const MEMORY_SHARE_MAX: Record<LoadClass, number> = { costly: 0.8, read: 0.85, write: 0.9 }
/** V8 does not know how much memory is left, and a process that does little keeps its garbage for long. */
const COLLECT_SECONDS = 10

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

export interface OverloadOptions {
  /** How long the oldest request in the queue for database connections has waited. */
  poolWaitMilliseconds(): number
  /** Null if it has no limit. */
  memory: OwnMemory | null
  log: Logger
}

/**
 * Watches the event loop, the queue for database connections, and the memory. Logs at most twice a second that requests
 * are refused, why, and how many.
 */
export function watchOverload({ poolWaitMilliseconds, memory, log }: OverloadOptions): Overload {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MILLISECONDS })
  let loopUse = performance.eventLoopUtilization()
  let lookedAt = performance.now()
  let lateSince: number | null = null
  let lateMilliseconds = 0
  let memoryBytes = 0
  let collectedAt = Number.NEGATIVE_INFINITY
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
    memoryBytes = memory?.bytes() ?? 0
    if (isShortOfMemory('costly') && lookedAt - collectedAt >= COLLECT_SECONDS * 1_000) {
      collectedAt = lookedAt
      collectGarbage()
      memoryBytes = memory?.bytes() ?? 0
    }
    if (refusedCount > 0) log.warn({ count: refusedCount }, 'Refused requests')
    refusedCount = 0
  }
  const timer = setInterval(look, LOOK_MILLISECONDS).unref()

  function isShortOfMemory(loadClass: LoadClass): boolean {
    return memory !== null && memoryBytes > MEMORY_SHARE_MAX[loadClass] * memory.bytesMax
  }

  /** The resource of which there is too little for this class, and how late it is or how much is used; or null. */
  function findShortage(loadClass: LoadClass): LogFields | null {
    if (isShortOfMemory(loadClass)) return { reason: 'memory', bytes: memoryBytes, limit: memory?.bytesMax }
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
