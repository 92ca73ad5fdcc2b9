import { causedError, type SignInError } from './errors.ts'

export interface CausedRefusal {
  readonly code: number
  /** Address of a user; null for each. */
  readonly user: string | null
  /** Null for each client. */
  readonly clientId: string | null
  /** Number of requests that it still refuses. */
  left: number
}

/** Refusals of token requests that the control API asked for. */
export interface CausedRefusals {
  /** Returns false for a code that cannot be caused. */
  add(refusal: CausedRefusal): boolean
  /** The refusal of a token request, which counts; null if it may go on. */
  take(user: string | null, clientId: string): SignInError | null
  clear(): void
}

export function openCausedRefusals(): CausedRefusals {
  let refusals: CausedRefusal[] = []
  return {
    add(refusal) {
      if (!causedError(refusal.code)) return false
      refusals.push(refusal)
      return true
    },
    take(user, clientId) {
      const found = refusals.find(
        refusal =>
          refusal.left > 0 &&
          (refusal.user === null || refusal.user === user) &&
          (refusal.clientId === null || refusal.clientId === clientId),
      )
      if (!found) return null
      found.left -= 1
      refusals = refusals.filter(({ left }) => left > 0)
      return causedError(found.code)
    },
    clear: () => void (refusals = []),
  }
}
