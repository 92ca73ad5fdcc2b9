import { ProviderFailure } from '../failure.ts'
import type { DraftContent } from '../mail.ts'
import type { AskOptions, GmailApi } from './api.ts'
import { draftsSchema } from './resources.ts'
import { UNITS } from './units.ts'

const PAGE_SIZE = 500
/** Drafts beyond that have no lasting id: an edit by another client makes them new messages. */
const PAGES_MAX = 20

export interface DraftKeys {
  /** The provider's ids of drafts by the id of their message, which changes with each edit. */
  keys: ReadonlyMap<string, string>
  /** False if there are more drafts than are listed. */
  isComplete: boolean
}

export const NO_DRAFT_KEYS: DraftKeys = { keys: new Map(), isComplete: false }

export async function listDraftKeys(api: GmailApi, options: AskOptions = {}): Promise<DraftKeys> {
  const keys = new Map<string, string>()
  let pageToken: string | undefined
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page = await api.ask(
      {
        path: 'drafts',
        query: {
          maxResults: PAGE_SIZE,
          includeSpamTrash: true,
          pageToken,
          fields: 'drafts(id,message(id,threadId)),nextPageToken',
        },
        units: UNITS.draftsList,
        schema: draftsSchema,
      },
      options,
    )
    for (const { id, message } of page.drafts) keys.set(message.id, id)
    if (page.nextPageToken === undefined) return { keys, isComplete: true }
    if (page.nextPageToken === pageToken)
      throw new ProviderFailure('unavailable', 'Gmail repeats a page of drafts.')
    pageToken = page.nextPageToken
  }
  return { keys, isComplete: false }
}

export function contentsOf(keys: DraftKeys['keys']): DraftContent[] {
  return [...keys].map(([key, draftKey]) => ({ draftKey, key }))
}
