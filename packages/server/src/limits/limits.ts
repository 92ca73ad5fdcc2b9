import type { CallLimits } from './calls.ts'
import type { Marks } from './marks.ts'
import type { SureWindows } from './windows.ts'

/** Where this process counts what is limited. */
export interface Limits {
  /** The requests of credentials. */
  calls: CallLimits
  /** Windows for everything else. */
  openWindows: OpenWindows
  /** Null if processes share nothing. */
  marks: Marks | null
}

/**
 * Opens windows of a minute, or of as many as are given. Without Redis, and while it is gone, this process counts for
 * itself, in at most `windowsMax` windows at once.
 */
export type OpenWindows = (options: { windowsMax: number; minutes?: number }) => SureWindows
