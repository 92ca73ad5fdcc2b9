import { describeOutage } from '../database/outage.ts'
import { ProviderFailure } from '../providers/failure.ts'

/** Says for `runtime.detail` why an account is not followed: what the provider said, or what the service lacks. */
export function describeFailure(error: unknown): string {
  if (error instanceof ProviderFailure) return error.message
  return describeOutage(error) ?? 'internal error'
}
