import { refuse } from '../calls/refuse.ts'
import type { Identity } from '../features/tenancy/credentials/authenticate.ts'
import type { CallLimits } from '../limits/calls.ts'
import type { Window } from '../limits/windows.ts'

/** Refuses a credential whose own window is spent, before any of its call is read or counted. */
export function refuseSpent(limits: Pick<CallLimits, 'spentSeconds'>, { credential, rates }: Identity): void {
  const limit = rates?.perCredential ?? null
  if (limit === null) return
  const seconds = limits.spentSeconds({ name: credentialWindow(credential.id), limit })
  if (seconds > 0) refuse('rate_limited', undefined, { retryAfterSeconds: seconds })
}

/** The windows on which a call counts: of its tenant and of its credential, as far as their plan limits them. */
export function windowsOf({ tenantId, credential, rates }: Identity): Window[] {
  const windows: Window[] = []
  if (rates?.perTenant) windows.push({ name: `tenant:${tenantId}`, limit: rates.perTenant })
  if (rates?.perCredential)
    windows.push({ name: credentialWindow(credential.id), limit: rates.perCredential })
  return windows
}

function credentialWindow(id: string): string {
  return `credential:${id}`
}
