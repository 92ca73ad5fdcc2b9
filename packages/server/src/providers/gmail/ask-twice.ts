import { isOfAccount, ProviderFailure } from '../failure.ts'
import type { AskOptions, GmailApi, GmailRequest, PartOutcome } from './api.ts'
import { profileSchema } from './resources.ts'
import { UNITS } from './units.ts'

/**
 * Repeats requests once that failed for no reason of their own. If a request fails alone, while Gmail answers others,
 * its message is unreadable; otherwise nothing can be read now, and the failure is thrown.
 */
export async function askTwice<T>(
  api: GmailApi,
  requests: ReadonlyArray<GmailRequest<T>>,
  options: AskOptions,
): Promise<Array<PartOutcome<T>>> {
  const outcomes = await askByHalves(api, requests, options)
  const failed = outcomes.flatMap(({ failure }, index) => (failure?.kind === 'unavailable' ? [index] : []))
  if (failed.length === 0) return outcomes
  const failedRequests = failed.map(index => requests[index]!)
  const again = await askByHalves(api, failedRequests, options)
  for (const [nth, index] of failed.entries()) outcomes[index] = again[nth]!
  if (outcomes.every(({ failure }) => failure?.kind === 'unavailable')) await requireAnswer(api, options)
  return outcomes
}

/** Sends smaller batches if the answer to a batch fails as a whole, for instance because it is too large. */
async function askByHalves<T>(
  api: GmailApi,
  requests: ReadonlyArray<GmailRequest<T>>,
  options: AskOptions,
): Promise<Array<PartOutcome<T>>> {
  try {
    return await api.askAll(requests, options)
  } catch (error) {
    const isAnswer = error instanceof ProviderFailure && error.kind === 'unavailable' && !error.isBusy
    if (!isAnswer || requests.length === 1) throw error
  }
  await requireAnswer(api, options)
  const middle = Math.ceil(requests.length / 2)
  return [
    ...(await askByHalves(api, requests.slice(0, middle), options)),
    ...(await askByHalves(api, requests.slice(middle), options)),
  ]
}

/** Whether a part of a batch failed because of its own request: others may succeed. */
export function isOfPart(failure: ProviderFailure): boolean {
  return failure.kind !== 'throttled' && failure.kind !== 'scope_missing' && !isOfAccount(failure)
}

/** Throws if Gmail answers nothing at all. */
async function requireAnswer(api: GmailApi, options: AskOptions): Promise<void> {
  await api.ask({ path: 'profile', units: UNITS.getProfile, schema: profileSchema }, options)
}
