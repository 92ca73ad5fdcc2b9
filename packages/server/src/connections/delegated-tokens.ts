import type { DelegateLoss } from '../accounts/grants/record-refused.ts'
import type { AccessTokens } from '../providers/access-tokens.ts'
import { type FailureKind, ProviderFailure } from '../providers/failure.ts'

/** Failures after which the grant of a delegate is gone. */
const LOST: ReadonlySet<FailureKind> = new Set(['grant_refused', 'account_deleted'])

/**
 * The tokens of a delegate, for one shared mailbox that they open.
 * @param recordLost called if the grant seems to be gone. Stops the shared mailbox if it is
 */
export function delegatedTokens(tokens: AccessTokens, recordLost: () => Promise<DelegateLoss>): AccessTokens {
  const orLost = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      if (!(error instanceof ProviderFailure) || !LOST.has(error.kind)) throw error
      throw failureOf(await recordLost(), error)
    }
  }
  return {
    get: signal => orLost(tokens.get(signal)),
    renew: (refused, signal) => orLost(tokens.renew(refused, signal)),
    findNewer: (held, signal) => orLost(Promise.resolve(tokens.findNewer?.(held, signal) ?? null)),
  }
}

function failureOf(loss: DelegateLoss, cause: ProviderFailure): ProviderFailure {
  const options = { cause, isBeforeAcceptance: true }
  if (loss === 'lost')
    return new ProviderFailure('grant_refused', 'The delegate of the mailbox has no grant.', options)
  if (loss === 'renewed')
    return new ProviderFailure('unavailable', 'The grant was renewed a moment ago.', options)
  return new ProviderFailure('account_deleted', 'The account was deleted.', options)
}
