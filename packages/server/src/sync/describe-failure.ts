import { findShortage } from '../database/shortage.ts'
import { DatabaseUnavailable } from '../database/unavailable.ts'
import { ProviderFailure } from '../providers/failure.ts'

/** Says for `runtime.detail` why an account is not followed: what the provider said, or what the service lacks. */
export function describeFailure(error: unknown): string {
  if (error instanceof ProviderFailure) return error.message
  const shortage = findShortage(error)
  if (shortage) return shortage.message
  return error instanceof DatabaseUnavailable ? 'The database cannot be reached' : 'internal error'
}
