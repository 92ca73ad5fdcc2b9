import { ProviderFailure } from '../failure.ts'
import type { AskOptions, GmailApi } from './api.ts'
import { type MessageRef, messagesSchema } from './resources.ts'
import { UNITS } from './units.ts'

/** The most that Gmail gives. */
const PAGE_SIZE = 500

export interface ListedIds {
  messages: MessageRef[]
  /** The token of the next page; undefined after the last one. It may not outlive the connection. */
  next: string | undefined
  /** About how many there are in all. */
  estimate: number
}

export interface IdQuery {
  /** Only messages with this label; all of them, also in Trash and Spam, if undefined. */
  labelId?: string
  /** Received at or after this time, in milliseconds since 1970. */
  after: number | null
  /** Received before this time. */
  before?: number | null
  pageSize?: number
}

/** A second of each bound is listed too much rather than too little. */
const SLACK_SECONDS = 1

/** Gmail does not read a number with fewer digits as seconds; there is hardly mail from before then. */
const SECONDS_MIN = 100_000

/** The terms of a search for messages received at or after a time, in milliseconds since 1970. */
export function afterTerms(after: number | null): string[] {
  const seconds = after === null ? 0 : Math.floor(after / 1_000) - SLACK_SECONDS
  return seconds < SECONDS_MIN ? [] : [`after:${seconds}`]
}

/** One page of the ids of messages, mostly newest first: the order is not to be relied on. */
export async function listIds(
  api: GmailApi,
  { labelId, after, before = null, pageSize = PAGE_SIZE }: IdQuery,
  pageToken: string | undefined,
  options: AskOptions,
): Promise<ListedIds> {
  const terms = [
    ...afterTerms(after),
    ...(before === null ? [] : [`before:${Math.ceil(before / 1_000) + SLACK_SECONDS}`]),
  ]
  const {
    messages,
    nextPageToken,
    resultSizeEstimate = 0,
  } = await api.ask(
    {
      path: 'messages',
      query: {
        maxResults: pageSize,
        includeSpamTrash: true,
        labelIds: labelId,
        q: terms.length > 0 ? terms.join(' ') : undefined,
        pageToken,
        fields: 'messages(id,threadId),nextPageToken,resultSizeEstimate',
      },
      units: UNITS.messagesList,
      schema: messagesSchema,
    },
    options,
  )
  if (nextPageToken !== undefined && nextPageToken === pageToken)
    throw new ProviderFailure('unavailable', 'Gmail repeats a page of messages.')
  return { messages, next: nextPageToken, estimate: resultSizeEstimate }
}
