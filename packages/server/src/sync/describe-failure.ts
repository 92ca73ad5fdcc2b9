import { describeOutage } from '../database/outage.ts'
import { ProviderFailure } from '../providers/failure.ts'

/**
 * Describes for `runtime.detail` why an account is not followed, in the words of the provider's failure or of an
 * outage of the service.
 */
export function describeFailure(error: unknown): string {
  if (error instanceof ProviderFailure) return error.message
  return describeOutage(error) ?? 'internal error'
}
