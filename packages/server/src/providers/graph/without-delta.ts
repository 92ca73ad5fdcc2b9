import type { FollowOptions, SourceStep } from '../mail.ts'
import { segment } from './api.ts'
import { recordChanges } from './changes.ts'
import { type FolderCursor, type FolderState, walkAgain } from './cursor.ts'
import type { GraphConnection } from './graph-connection.ts'
import { STATE_FIELDS } from './message.ts'
import { isSameState } from './quiet-look.ts'
import { type MessageState, statesSchema } from './resources.ts'

/* Following a folder where Graph has no delta of messages: by the time of their last modification, and by lists of ids. */

/** A folder in which something happened is listed again after this time, whatever its counts say. */
export const SWEEP_MS = 30 * 60_000
/** A quiet folder is listed again after this time. */
const QUIET_SWEEP_MS = 24 * 3_600_000
/** Lists of the same folder are this far apart. */
const SWEEP_MS_MIN = 30_000
const CHANGED_PER_PAGE = 500
const PAGES_MAX = 200

/**
 * The messages of a folder that were modified since it was last asked. If its count does not show that nothing left it,
 * the whole folder is listed again.
 */
export async function* compareWithoutDelta(
  connection: GraphConnection,
  source: string,
  { cursor, state, options }: { cursor: FolderCursor; state: FolderState; options: FollowOptions },
): AsyncGenerator<SourceStep, void, void> {
  if (cursor.stage !== 'follow') return
  const { api } = connection
  const changed = await listChanged(connection, source, cursor, options)
  const lacking = changed.length === 0 ? [] : await options.lacking(changed.map(({ id }) => id))
  const next = { ...cursor, ...state, askedAt: api.now() }
  if (changed.length > 0)
    yield* recordChanges(connection, source, { items: changed, removed: [] }, { cursor, next, options })
  if (mustSweep(cursor, { state, arrived: lacking.length, hasChanged: changed.length > 0, now: api.now() }))
    yield { type: 'reset', keys: 'kept', cursor: walkAgain(next) }
  else if (changed.length === 0 && !isSameState(cursor, state))
    yield { type: 'page', steps: [], cursor: next }
}

/** @param at.arrived messages that the index lacked */
export function mustSweep(
  cursor: Pick<FolderCursor, 'total' | 'walkedAt' | 'modifiedAt'>,
  at: { state: FolderState; arrived: number; hasChanged: boolean; now: number },
): boolean {
  const agoMs = at.now - (cursor.walkedAt ?? 0)
  if (agoMs < 0 || agoMs >= QUIET_SWEEP_MS) return true
  if (agoMs < SWEEP_MS_MIN) return false
  const isExplained = cursor.total !== null && at.state.total === cursor.total + at.arrived
  if (!isExplained) return true
  const hasChangedSince = at.hasChanged || (cursor.modifiedAt ?? 0) > (cursor.walkedAt ?? 0)
  return hasChangedSince && agoMs >= SWEEP_MS
}

async function listChanged(
  { api }: GraphConnection,
  source: string,
  { modifiedAt, walkedAt }: FolderCursor,
  { signal }: FollowOptions,
): Promise<MessageState[]> {
  // Times are in whole seconds; what was modified in the same second is read again.
  const since = new Date(modifiedAt ?? walkedAt ?? 0).toISOString()
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
    if (link === undefined || pages >= PAGES_MAX) break
    page = await api.follow(link, statesSchema, { signal })
  }
  return [...changed.values()]
}
