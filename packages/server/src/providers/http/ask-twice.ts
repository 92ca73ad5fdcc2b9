import { isOfAccount, ProviderFailure } from '../failure.ts'

type Outcome<T> = { value: T; failure: null } | { value: null; failure: ProviderFailure }

export interface Asking<R, T> {
  /** Sends requests together. The outcomes are in their order. */
  askAll(requests: readonly R[]): Promise<Array<Outcome<T>>>
  /** Requests that are repeated together. */
  repeatedMax: number
  /** Throws if the provider answers nothing at all. */
  requireAnswer(): Promise<unknown>
}

/**
 * Repeats requests once that failed for no reason of their own. If a request fails alone, while the provider answers others,
 * its message is unreadable; otherwise nothing can be read now, and the failure is thrown.
 */
export async function askTwice<R, T>(
  requests: readonly R[],
  asking: Asking<R, T>,
): Promise<Array<Outcome<T>>> {
  const outcomes = await askByHalves(requests, asking)
  const failed = outcomes.flatMap(({ failure }, index) => (failure?.kind === 'unavailable' ? [index] : []))
  // Many calls would only show what one does.
  if (failed.length === requests.length && failed.length > asking.repeatedMax) await asking.requireAnswer()
  for (let at = 0; at < failed.length; at += asking.repeatedMax) {
    const indexes = failed.slice(at, at + asking.repeatedMax)
    const again = await askByHalves(
      indexes.map(index => requests[index]!),
      asking,
    )
    for (const [nth, index] of indexes.entries()) outcomes[index] = again[nth]!
  }
  if (failed.length > 0 && outcomes.every(({ failure }) => failure?.kind === 'unavailable'))
    await asking.requireAnswer()
  return outcomes
}

/** Sends smaller batches if the answer to a batch fails as a whole, for instance because it is too large. */
async function askByHalves<R, T>(requests: readonly R[], asking: Asking<R, T>): Promise<Array<Outcome<T>>> {
  try {
    return await asking.askAll(requests)
  } catch (error) {
    const isAnswer = error instanceof ProviderFailure && error.kind === 'unavailable' && !error.isBusy
    if (!isAnswer || requests.length === 1) throw error
  }
  await asking.requireAnswer()
  const middle = Math.ceil(requests.length / 2)
  return [
    ...(await askByHalves(requests.slice(0, middle), asking)),
    ...(await askByHalves(requests.slice(middle), asking)),
  ]
}

/** Whether a part of a batch failed because of its own request: others may succeed. */
export function isOfPart(failure: ProviderFailure): boolean {
  return failure.kind !== 'throttled' && failure.kind !== 'scope_missing' && !isOfAccount(failure)
}
