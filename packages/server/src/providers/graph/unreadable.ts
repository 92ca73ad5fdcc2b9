import { ProviderFailure } from '../failure.ts'
import type { AskOptions } from './api.ts'

/** Whether an answer cannot be read, as one that is too large. If Graph does not answer at all, the next call shows that. */
export function isUnreadable(error: unknown, { signal }: AskOptions): boolean {
  const isAnswer = error instanceof ProviderFailure && error.kind === 'unavailable' && !error.isBusy
  return isAnswer && signal?.aborted !== true
}
