import type { Secret } from '../kit/secret.ts'

/**
 * The access tokens of one account. Both methods throw `ProviderFailure`: `grant_refused` if the grant has certainly
 * ended, `misconfigured` if the provider refuses our OAuth app, `throttled` or `unavailable` if it cannot be reached
 * now.
 */
export interface AccessTokens {
  /** Returns a token that is good for at least a minute. */
  get(signal?: AbortSignal): Promise<Secret>
  /**
   * Returns a token other than the one that the provider refused with 401. Called once for a refused call, which is then
   * repeated once.
   */
  renew(refused: Secret, signal?: AbortSignal): Promise<Secret>
  /**
   * Returns the token of a grant that the user has given since this one was read from it; null if there is none. For a token
   * that lacks a scope: the user may have signed in again a moment ago, and another process may have stored that.
   */
  findNewer?(held: Secret, signal?: AbortSignal): Promise<Secret | null>
}
