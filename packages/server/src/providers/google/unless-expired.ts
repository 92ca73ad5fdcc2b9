import { ProviderFailure } from '../failure.ts'

/**
 * Awaits a call that leads on from a token of an earlier answer.
 * @param hasToken whether the call has one
 * @returns null if the token is not taken any more
 */
export async function unlessExpired<T>(hasToken: boolean, call: () => Promise<T>): Promise<T | null> {
  try {
    return await call()
  } catch (error) {
    if (hasToken && error instanceof ProviderFailure && error.kind === 'rejected') return null
    throw error
  }
}
