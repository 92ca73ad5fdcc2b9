import { refuse } from '../features/refuse.ts'
import type { Identity } from '../features/tenancy/credentials/authenticate.ts'

/** A window that a call counts on. */
export interface Window {
  /** Whose it is, such as `tenant:<id>`. */
  name: string
  limit: number
}

/** How a call was counted. */
export interface Count {
  isAccepted: boolean
  /** The window with the fewest requests left, after this one; where it was refused, the spent one. */
  limit: number
  remaining: number
  /** Until the window ends; at least 1. */
  resetSeconds: number
}

/**
 * Counts requests in fixed windows of one minute. Several instances share one store by another implementation; this
 * interface lets it wait, and fail.
 */
export interface WindowStore {
  /** Counts a request on every one of the windows, or on none where one is spent. Null: the store cannot be reached. */
  count(windows: readonly Window[]): Count | null | Promise<Count | null>
  /** Seconds until a window ends that is known to be spent without asking; 0 where it is not. */
  spentSeconds(window: Window): number
}

/** Refuses a credential whose own window is spent, before anything of its call is read or counted. */
export function refuseSpent(store: WindowStore, { credential, rates }: Identity): void {
  const limit = rates?.perCredential ?? null
  if (limit === null) return
  const seconds = store.spentSeconds({ name: credentialWindow(credential.id), limit })
  if (seconds > 0) refuse('rate_limited', undefined, { retryAfterSeconds: seconds })
}

/** Counts a call on the windows of its tenant and its credential; null where nothing limits it. */
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
