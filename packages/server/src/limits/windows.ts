/** A window on which something counts. */
export interface Window {
  /** The owner of the window, such as `tenant:<id>`. */
  name: string
  limit: number
  /** It must not be spent, but nothing is added to it. */
  isOnlyChecked?: boolean
}

/** The result of counting. */
export interface Count {
  isAccepted: boolean
  /**
   * Limit of the window with the fewest left, after this count. If the count was refused, of the spent window.
   */
  limit: number
  remaining: number
  /** Seconds until the window ends; at least 1. */
  resetSeconds: number
}

/** Counts in fixed windows of one minute, or of as many minutes as an implementation says, by the clock of its store. */
export interface Windows {
  /** Counts once on all windows, or on none if one of them is spent. Returns null if the store cannot be reached. */
  count(windows: readonly Window[]): Count | null | Promise<Count | null>
  /** Seconds until the window ends if it is known to be spent without asking the store, otherwise 0. */
  spentSeconds(window: Window): number
}

/** Windows that can always count. */
export interface SureWindows extends Windows {
  count(windows: readonly Window[]): Count | Promise<Count>
}

/** Decides a count by what was left of each window before it; 0 means that it is spent. */
export function decideCount(
  windows: readonly Window[],
  left: readonly number[],
  resetSeconds: number,
): Count {
  const all = windows.map((window, nth) => ({ ...window, left: Math.max(0, left[nth] ?? 0) }))
  const spent = all.find(window => window.left === 0)
  if (spent) return { isAccepted: false, limit: spent.limit, remaining: 0, resetSeconds }
  const counted = all.filter(({ isOnlyChecked }) => !isOnlyChecked)
  const tightest = counted.reduce(
    (least, window) => (window.left < least.left ? window : least),
    counted[0] ?? all[0]!,
  )
  const remaining = tightest.isOnlyChecked ? tightest.left : tightest.left - 1
  return { isAccepted: true, limit: tightest.limit, remaining, resetSeconds }
}

/** Asks the shared windows, and those of this process while these cannot be reached. */
export function fallBackTo(own: SureWindows, shared: Windows): SureWindows {
  return {
    count: async windows => (await shared.count(windows)) ?? own.count(windows),
    spentSeconds: window => Math.max(shared.spentSeconds(window), own.spentSeconds(window)),
  }
}
