import { askTwice as askRepeatedly } from '../http/ask-twice.ts'
import {
  type AskOptions,
  BATCH_PARTS_MAX,
  type GmailApi,
  type GmailRequest,
  type PartOutcome,
} from './api.ts'
import { profileSchema } from './resources.ts'
import { UNITS } from './units.ts'

/** Sends requests to Gmail, and those once more that failed for no reason of their own. */
export function askTwice<T>(
  api: GmailApi,
  requests: ReadonlyArray<GmailRequest<T>>,
  options: AskOptions,
): Promise<Array<PartOutcome<T>>> {
  return askRepeatedly(requests, {
    askAll: asked => api.askAll(asked, options),
    repeatedMax: BATCH_PARTS_MAX,
    requireAnswer: () =>
      api.ask({ path: 'profile', units: UNITS.getProfile, schema: profileSchema }, options),
  })
}
