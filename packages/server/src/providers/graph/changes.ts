import type {
  ArrivedStep,
  Cursor,
  FollowOptions,
  GoneStep,
  PageStep,
  RemoteMessage,
  StatesStep,
} from '../mail.ts'
import { BATCH_PARTS_MAX } from './api.ts'
import { type FolderCursor, followedSince, isSince } from './cursor.ts'
import type { DeltaPage } from './delta.ts'
import { fetchMessages } from './fetch.ts'
import type { GraphConnection } from './graph-connection.ts'
import { flagsOf, hasAllFlags } from './message.ts'
import type { MessageState } from './resources.ts'
import { noteUnfound } from './unfound.ts'

/** Known messages of one page that are fetched whole, since anything about them may have changed. */
const FETCHED_AGAIN_MAX = 500
/** Messages in one step. */
const STEP_MESSAGES_MAX = 100

/**
 * The steps of one page of changes. A page of few messages is fetched whole and is one step. Otherwise the places and flags
 * come first, which the page names, and then the messages that the index lacks, drafts, and those that were named in
 * part.
 * @param next the cursor behind the page
 * @returns the cursor of the last step
 */
export async function* recordChanges(
  connection: GraphConnection,
  source: string,
  page: Pick<DeltaPage, 'items' | 'removed'>,
  { cursor, next, options }: { cursor: FolderCursor; next: FolderCursor; options: FollowOptions },
): AsyncGenerator<PageStep & { cursor: Cursor }, FolderCursor, void> {
  const since = followedSince(cursor, options.since)
  const items = page.items.filter(item => isFollowed(item, since, options))
  const ask = { signal: options.signal, urgency: 'prompt' as const }
  if (items.length <= BATCH_PARTS_MAX) {
    const fetched = await fetchMessages(
      connection,
      items.map(({ id }) => id),
      ask,
    )
    const noted = noteUnfound(next, fetched, connection.api.now())
    const gone = goneStep([...page.removed, ...fetched.gone])
    const arrived = arrivedStep('new', { ...fetched, unreadable: noted.unreadable }, since)
    yield { type: 'page', steps: [...gone, ...arrived], cursor: noted.cursor }
    return noted.cursor
  }
  const known = toStates(items, source)
  yield { type: 'page', steps: [...goneStep(page.removed), ...known], cursor }
  const wanted = await wantedOf(items, options)
  let done = next
  for (let at = 0; at < wanted.length; at += STEP_MESSAGES_MAX) {
    const fetched = await fetchMessages(connection, wanted.slice(at, at + STEP_MESSAGES_MAX), ask)
    const noted = noteUnfound(done, fetched, connection.api.now())
    done = noted.cursor
    const arrived = arrivedStep('new', { ...fetched, unreadable: noted.unreadable }, since)
    const steps = [...goneStep(fetched.gone), ...arrived]
    yield { type: 'page', steps, cursor: { ...cursor, unfound: done.unfound, unfoundAt: done.unfoundAt } }
  }
  yield { type: 'page', steps: [], cursor: done }
  return done
}

/** Whether the changes of a message are recorded now. */
export function isFollowed(
  { id, receivedDateTime }: MessageState,
  since: number | null,
  { skip }: Pick<FollowOptions, 'skip'>,
): boolean {
  return !skip.has(id) && isSince(receivedDateTime, since)
}

/** Messages that the index lacks come first. The others are fetched again only if they are few. */
async function wantedOf(items: readonly MessageState[], options: FollowOptions): Promise<string[]> {
  const ids = items.map(({ id }) => id)
  const lacking = await options.lacking(ids)
  const missing = new Set(lacking)
  const others = items.filter(({ id }) => !missing.has(id))
  const mustFetch = others.filter(mustFetchAgain)
  const again = others.filter(item => !mustFetchAgain(item)).slice(0, FETCHED_AGAIN_MAX)
  return [...lacking, ...[...mustFetch, ...again].map(({ id }) => id)]
}

/** Drafts have other contents under the same id, and an item without all flags does not show its state. */
export function mustFetchAgain(item: MessageState): boolean {
  return item.isDraft === true || !hasAllFlags(item)
}

/** The states of messages of which all flags are named. */
export function toStates(items: readonly MessageState[], source: string): StatesStep[] {
  const changes = items.filter(hasAllFlags).map(item => ({
    key: item.id,
    flags: flagsOf(item),
    mailboxKeys: [item.parentFolderId ?? source],
  }))
  return changes.length === 0 ? [] : [{ type: 'states', changes }]
}

export function goneStep(keys: readonly string[]): GoneStep[] {
  return keys.length === 0 ? [] : [{ type: 'gone', keys: [...keys], certainty: 'hint' }]
}

/** Messages oldest first, as they came. */
export function arrivedStep(
  origin: ArrivedStep['origin'],
  { messages, unreadable }: Pick<ArrivedStep, 'messages' | 'unreadable'>,
  since: number | null,
): ArrivedStep[] {
  const wanted = messages.filter(({ receivedAt }) => isSince(receivedAt.getTime(), since))
  if (wanted.length === 0 && unreadable.length === 0) return []
  return [{ type: 'arrived', origin, messages: oldestFirst(wanted), unreadable, remaining: 0 }]
}

function oldestFirst(messages: readonly RemoteMessage[]): RemoteMessage[] {
  return messages.toSorted((one, other) => one.receivedAt.getTime() - other.receivedAt.getTime())
}
