import { refuse } from '../features/refuse.ts'
import type { Identity } from '../features/tenancy/credentials/authenticate.ts'

/** A window on which a call counts. */
export interface Window {
  /** The owner of the window, such as `tenant:<id>`. */
  name: string
  limit: number
}

/** The result of counting a call. */
export interface Count {
  isAccepted: boolean
  /**
   * Limit of the window with the fewest requests left, this call included. If the call was refused, of the spent
   * window.
   */
  limit: number
  remaining: number
  /** Seconds until the window ends; at least 1. */
  resetSeconds: number
}

/**
 * Counts requests in fixed windows of one minute. An implementation that several instances share may be asynchronous
 * and may fail.
 */
export interface WindowStore {
  /**
   * Counts a request on all windows, or on none if one of them is spent. Returns null if the store cannot be reached.
   */
  count(windows: readonly Window[]): Count | null | Promise<Count | null>
  /** Seconds until the window ends if it is known to be spent without asking the store, otherwise 0. */
  spentSeconds(window: Window): number
}

/** Refuses a credential whose own window is spent, before any of its call is read or counted. */
export function refuseSpent(store: WindowStore, { credential, rates }: Identity): void {
  const limit = rates?.perCredential ?? null
  if (limit === null) return
  const seconds = store.spentSeconds({ name: credentialWindow(credential.id), limit })
  if (seconds > 0) refuse('rate_limited', undefined, { retryAfterSeconds: seconds })
}

/** Counts a call on the windows of its tenant and its credential. Returns null if neither has a limit. */
export async function countCall(
  store: WindowStore,
  { tenantId, credential, rates }: Identity,
): Promise<Count | null> {
  const windows: Window[] = []
  if (rates?.perTenant) windows.push({ name: `tenant:${tenantId}`, limit: rates.perTenant })
  if (rates?.perCredential)
    windows.push({ name: credentialWindow(credential.id), limit: rates.perCredential })
  return windows.length === 0 ? null : store.count(windows)
}

function credentialWindow(id: string): string {
  return `credential:${id}`
}
