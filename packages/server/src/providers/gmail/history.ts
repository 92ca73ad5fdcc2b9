import { ProviderFailure } from '../failure.ts'
import type { Cursor, FollowOptions, SourceStep } from '../mail.ts'
import { freshCursor, type GmailCursor, mayHeal, readCursor } from './cursor.ts'
import type { GmailConnection } from './gmail-connection.ts'
import { readRecords } from './history-page.ts'
import { historySchema, profileSchema } from './resources.ts'
import { UNITS } from './units.ts'

const RECORDS_PER_PAGE = 100
/** Pages that one pass reads; a later pass goes on. */
const PAGES_MAX = 1_000
/** Pages without a record are possible, but not for ever. */
const EMPTY_PAGES_MAX = 100
/**
 * Maximum number of times the history may be read again from the cursor because Gmail no longer accepts its page token.
 */
const RESTARTS_MAX = 3
/** A server of Gmail that is behind the others has caught up after this time. */
const BEHIND_MS_MAX = 60_000

/** Reads the profile of the mailbox. Its history id comes before anything that is listed later. */
export async function askProfile({ api, signal }: GmailConnection) {
  return api.ask({ path: 'profile', units: UNITS.getProfile, schema: profileSchema }, { signal })
}

/** `MailProvider.compare`: the pages of the history behind the cursor, or a reset if there is none. */
export async function* compareHistory(
  connection: GmailConnection,
  stored: Cursor | null,
  options: FollowOptions,
): AsyncGenerator<SourceStep, void, void> {
  const { api } = connection
  const begun = readCursor(stored)
  if (!begun) {
    const { historyId } = await askProfile(connection)
    connection.seenHistoryId = historyId
    return yield { type: 'reset', keys: 'void', cursor: freshCursor(historyId, options.since) }
  }
  if (begun.hasGap && mayHeal(begun, api.now())) return yield await resetOf(connection, begun)

  let cursor = begun
  let startId = begun.historyId
  let pageToken: string | undefined
  for (let pages = 0, empty = 0, restarts = 0; pages < PAGES_MAX; pages += 1) {
    const page = await askHistory(connection, startId, pageToken)
    if (page === 'stale_page' && ++restarts <= RESTARTS_MAX) {
      startId = cursor.historyId
      pageToken = undefined
      continue
    }
    if (page === 'expired' || page === 'stale_page') return yield await healLater(connection, begun)
    const { history, nextPageToken } = page
    const before = cursor
    cursor = { ...cursor, historyId: behind(cursor.historyId, page) }
    if (history.length > 0) yield* readRecords(connection, history, { before, after: cursor }, options)
    else if (nextPageToken === undefined && cursor.historyId !== begun.historyId)
      yield { type: 'page', steps: [], cursor }
    connection.seenHistoryId = cursor.historyId
    if (nextPageToken === undefined) {
      if (await isFallen(connection, cursor.historyId, page.historyId))
        yield await healLater(connection, cursor)
      return
    }
    empty = history.length > 0 ? 0 : empty + 1
    if (empty > EMPTY_PAGES_MAX || nextPageToken === pageToken)
      throw new ProviderFailure('unavailable', 'The history of Gmail does not come to its end.')
    pageToken = nextPageToken
  }
}

/** One page of the history. `expired`: it no longer reaches back that far. */
export async function askHistory(
  { api, signal }: GmailConnection,
  startHistoryId: string,
  pageToken: string | undefined,
) {
  try {
    return await api.ask(
      {
        path: 'history',
        query: { startHistoryId, maxResults: RECORDS_PER_PAGE, pageToken },
        units: UNITS.historyList,
        schema: historySchema,
        answerBytesMax: 8 * 1024 * 1024,
      },
      { signal },
    )
  } catch (error) {
    // 404: too old (developers.google.com/workspace/gmail/api/guides/sync). 400: not an id of Gmail's history.
    if (!(error instanceof ProviderFailure)) throw error
    if (error.kind === 'rejected') return pageToken === undefined ? 'expired' : 'stale_page'
    if (error.kind === 'not_found') return 'expired'
    throw error
  }
}

/**
 * The id behind which the history goes on after a page: the mailbox's own after the last page, else one before the last
 * record, since the next page may hold more records of the same id.
 */
function behind(before: string, page: ReturnType<typeof historySchema.parse>): string {
  if (page.nextPageToken === undefined) return later(before, page.historyId)
  const last = page.history.at(-1)?.id
  const previous = page.history.findLast(({ id }) => id !== last)?.id
  return previous === undefined ? before : later(before, previous)
}

/** History ids are numbers of 64 bits. */
function later(one: string, other: string): string {
  return BigInt(one) >= BigInt(other) ? one : other
}

/** Whether the ids of the mailbox stay below the one that Gmail reported before: then its history has no changes. */
async function isFallen(connection: GmailConnection, reported: string, now: string): Promise<boolean> {
  const { api } = connection
  const isBehind =
    BigInt(now) < BigInt(reported) && BigInt((await askProfile(connection)).historyId) < BigInt(reported)
  connection.behindSince = isBehind ? (connection.behindSince ?? api.now()) : null
  return connection.behindSince !== null && api.now() - connection.behindSince >= BEHIND_MS_MAX
}

/** The history has expired: everything is listed again, unless that was done lately. */
async function healLater(connection: GmailConnection, cursor: GmailCursor): Promise<SourceStep> {
  if (mayHeal(cursor, connection.api.now())) return resetOf(connection, cursor)
  const { historyId } = await askProfile(connection)
  connection.seenHistoryId = historyId
  return { type: 'page', steps: [], cursor: { ...cursor, historyId, hasGap: true } }
}

async function resetOf(connection: GmailConnection, cursor: GmailCursor): Promise<SourceStep> {
  const { historyId } = await askProfile(connection)
  connection.seenHistoryId = historyId
  connection.forgetArrivals()
  const healedAt = connection.api.now()
  return {
    type: 'reset',
    keys: 'kept',
    cursor: { ...cursor, historyId, listing: 'healing', healedAt, hasGap: false },
  }
}
