import { isOfAccount, ProviderFailure } from '../failure.ts'
import type { AskOptions, GmailApi, GmailRequest, PartOutcome } from './api.ts'
import { profileSchema } from './resources.ts'
import { UNITS } from './units.ts'

/**
 * Asks once more for what failed for no reason of its own. What fails alone, while Gmail answers other things, is
 * a message that cannot be read; otherwise nothing can be read now, and the failure is thrown.
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

/** Asks for less at once where the answer to a batch fails as a whole, as one that is too large does. */
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

/** Whether a part of a batch failed because of what it asks for: asking for others may succeed. */
export function isOfPart(failure: ProviderFailure): boolean {
  return failure.kind !== 'throttled' && failure.kind !== 'scope_missing' && !isOfAccount(failure)
}

/** Throws if Gmail answers nothing at all. */
async function requireAnswer(api: GmailApi, options: AskOptions): Promise<void> {
  await api.ask({ path: 'profile', units: UNITS.getProfile, schema: profileSchema }, options)
}
