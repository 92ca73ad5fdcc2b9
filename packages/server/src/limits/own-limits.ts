import type { Clock } from '../kit/clock.ts'
import { createOwnCalls } from './calls.ts'
import type { Limits } from './limits.ts'
import { type MemoryWindows, createMemoryWindows } from './memory-windows.ts'
import type { Windows } from './windows.ts'

/** Bounds the windows of requests in memory. They belong to authenticated tenants and credentials. */
const RATE_WINDOWS_MAX = 1_000_000

/** The windows of requests, as this process counts them for itself. */
export function createOwnRateWindows(clock: Clock): MemoryWindows {
  return createMemoryWindows(clock, RATE_WINDOWS_MAX)
}

/** Limits that this process counts for itself, but for the requests of a minute if other windows are given for them. */
export function createOwnLimits(clock: Clock, rateWindows: Windows = createOwnRateWindows(clock)): Limits {
  return {
    calls: createOwnCalls(rateWindows),
    openWindows: ({ windowsMax, minutes }) => createMemoryWindows(clock, windowsMax, minutes),
    marks: null,
  }
}
