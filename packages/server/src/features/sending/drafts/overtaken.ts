import type { RequestContext } from '../../../calls/context.ts'
import { Refusal, refuse } from '../../../calls/refuse.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { CHANGED } from './record-change.ts'

/** Number of tries with a draft that others change at the same time. */
const TRIES_MAX = 3

/** Does work with the present content of a draft. Without `If-Match` it begins again if others have changed the draft. */
export async function untilNotOvertaken<T>(
  { ifMatch }: Pick<RequestContext, 'ifMatch'>,
  work: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!isOvertaken(error) || ifMatch !== null || tries === TRIES_MAX) throw error
    }
  }
}

function isOvertaken(error: unknown): boolean {
  return error instanceof Refusal && error.cause instanceof ProviderFailure && error.cause.kind === 'conflict'
}

/** Refuses a draft that was changed while it was read. */
export function refuseOvertaken(): never {
  const cause = new ProviderFailure('conflict', CHANGED.message, { isBeforeAcceptance: true })
  return refuse('provider_conflict', undefined, { ...CHANGED, cause })
}
