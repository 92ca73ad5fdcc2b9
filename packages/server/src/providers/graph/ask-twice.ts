import { askTwice as askRepeatedly } from '../http/ask-twice.ts'
import type { AskOptions, GraphApi, GraphRequest, PartOutcome } from './api.ts'
import { requestOfFolder } from './folders.ts'

/**
 * Sends requests to Graph, and those once more that failed for no reason of their own.
 * @param probe shows whether Graph answers at all
 */
export function askTwice<T>(
  api: GraphApi,
  requests: ReadonlyArray<GraphRequest<T>>,
  options: AskOptions,
  probe: GraphRequest<unknown> = requestOfFolder('inbox'),
): Promise<Array<PartOutcome<T>>> {
  return askRepeatedly(requests, {
    askAll: asked => api.askAll(asked, options),
    // A batch ends at its first failures, so that others may not have been asked for.
    repeatedMax: 1,
    requireAnswer: () => api.ask(probe, options),
  })
}
