import type { FollowOptions, SourceStep } from '../mail.ts'
import { segment } from './api.ts'
import { isFollowed, recordChanges } from './changes.ts'
import { type FolderCursor, followedSince, type FolderState, walkAgain } from './cursor.ts'
import type { GraphConnection } from './graph-connection.ts'
import { STATE_FIELDS } from './message.ts'
import { isSameState } from './quiet-look.ts'
import { type MessageState, statesSchema } from './resources.ts'

/* Following a folder where Graph has no delta of messages: by the time of their last modification, and by lists of ids. */

/** A folder in which something happened is listed again after this time, whatever its counts say. */
export const SWEEP_MS = 30 * 60_000
/** A quiet folder is listed again after this time. */
const QUIET_SWEEP_MS = 24 * 3_600_000
/** Lists of the same folder begin this far apart. */
const SWEEP_MS_MIN = 30_000
/** The clocks of Graph and of the service may differ by this much. */
const CLOCKS_APART_MS = 5 * 60_000
const CHANGED_PER_PAGE = 500
/** If more was modified, the folder is listed again: that takes fewer calls. */
const PAGES_MAX = 20

/**
 * The messages of a folder that were modified since it was last asked. If its count does not show that nothing left it,
 * the whole folder is listed again.
 * @returns the state of the folder that is known with these steps: another one is looked into again
 */
export async function* compareWithoutDelta(
  connection: GraphConnection,
  source: string,
  { cursor, state, options }: { cursor: FolderCursor; state: FolderState; options: FollowOptions },
): AsyncGenerator<SourceStep, FolderState, void> {
  if (cursor.stage !== 'follow') return state
  const askedAt = connection.api.now()
  const changed = await listChanged(connection, source, cursor, options)
  if (changed === null) {
    yield { type: 'reset', keys: 'kept', cursor: { ...walkAgain(cursor), ...state, askedAt } }
    return state
  }
  // Messages that are not followed do not show whether they have just come.
  const since = followedSince(cursor, options.since)
  const followed = changed.filter(item => isFollowed(item, since, options))
  const lacking = followed.length === 0 ? [] : await options.lacking(followed.map(({ id }) => id))
  const known = knownState(cursor, state, lacking.length)
  let next: FolderCursor = { ...cursor, ...known, askedAt }
  if (changed.length > 0)
    next = yield* recordChanges(
      connection,
      source,
      { items: changed, removed: [] },
      { cursor, next, options },
    )
  if (mustSweep(next, state, askedAt)) {
    const total = state.total ?? known.total
    yield { type: 'reset', keys: 'kept', cursor: { ...walkAgain(next), ...known, total } }
    return state
  }
  if (changed.length === 0 && !isSameState(cursor, known)) yield { type: 'page', steps: [], cursor: next }
  return known
}

/**
 * The state of a folder as its changes explain it. Its count is the former one with the messages that the index lacked: if
 * the folder has another, something left it, and the counts differ until it was listed again.
 */
export function knownState(
  { total, modifiedAt, mark }: Pick<FolderCursor, 'total' | 'modifiedAt' | 'mark'>,
  state: FolderState,
  arrived: number,
): FolderState {
  const newest = state.modifiedAt === null ? { modifiedAt, mark } : {}
  return { ...state, ...newest, total: total === null ? null : total + arrived }
}

/**
 * @param known the state that the changes explain, and the time at which the last list began
 * @param state its total is null if the folder was not counted since: then the next look compares the counts
 */
export function mustSweep(
  known: Pick<FolderCursor, 'total' | 'walkedAt' | 'modifiedAt'>,
  state: Pick<FolderState, 'total'>,
  now: number,
): boolean {
  const walkedAt = known.walkedAt ?? 0
  const agoMs = now - walkedAt
  if (agoMs < 0 || agoMs >= QUIET_SWEEP_MS) return true
  if (agoMs < SWEEP_MS_MIN) return false
  if (known.total === null || (state.total !== null && known.total !== state.total)) return true
  return (known.modifiedAt ?? 0) > walkedAt - CLOCKS_APART_MS && agoMs >= SWEEP_MS
}

/** The messages that were modified since the folder was last asked; null if there are too many. */
async function listChanged(
  { api }: GraphConnection,
  source: string,
  { modifiedAt, walkedAt }: FolderCursor,
  { signal }: FollowOptions,
): Promise<MessageState[] | null> {
  // Times are in whole seconds; what was modified in the same second is read again.
  const since = new Date(modifiedAt ?? Math.max((walkedAt ?? 0) - CLOCKS_APART_MS, 0)).toISOString()
  const changed = new Map<string, MessageState>()
  let page = (
    await api.ask(
      {
        path: `mailFolders/${segment(source)}/messages`,
        query: {
          $select: STATE_FIELDS,
          $filter: `lastModifiedDateTime ge ${since}`,
          $orderby: 'lastModifiedDateTime desc',
          $top: CHANGED_PER_PAGE,
        },
        schema: statesSchema,
        accepts: [200],
        answerBytesMax: 16 * 1024 * 1024,
      },
      { signal },
    )
  ).value
  for (let pages = 1; ; pages += 1) {
    for (const item of page.value) changed.set(item.id, item)
    const link = page['@odata.nextLink']
    if (link === undefined) return [...changed.values()]
    if (pages >= PAGES_MAX) return null
    page = await api.follow(link, statesSchema, { signal })
  }
}
