import type { RemoteMailbox } from '../mail.ts'
import type { AskOptions } from './api.ts'
import type { FolderState } from './cursor.ts'
import { askFolders, askRoles, toMailboxes } from './folders.ts'
import type { GraphConnection } from './graph-connection.ts'
import { statesSchema } from './resources.ts'
import type { RecentMessage } from './seen-state.ts'

/** The newest modifications that a look reads. If there were more since the last look, any folder may have changed. */
const RECENT = 50

/**
 * Looks at the whole mailbox: counts of all folders, and the messages that were modified last. Two calls, and one more
 * for each folder that has children.
 */
export async function look(
  connection: GraphConnection,
  options: AskOptions,
): Promise<{ mailboxes: RemoteMailbox[]; leftOut: number }> {
  const { api, seen } = connection
  seen.roles ??= await askRoles(api, options)
  // In this order, so that a folder which is made in between is in the list.
  const recent = await askRecent(connection, options)
  const folders = await askFolders(api, options)
  const ids = new Set(folders.map(({ id }) => id))
  const newest = newestOf(recent)
  const oldest = recent.at(-1)?.modifiedAt ?? null
  const isCut = recent.length >= RECENT && seen.newestAt !== null && oldest !== null && oldest > seen.newestAt
  const unlisted = isCut ? oldest : null
  const states = new Map(
    folders.map(({ id, totalItemCount = null, unreadItemCount = null }): [string, FolderState] => {
      const before = seen.folders.get(id)?.modifiedAt ?? null
      const now = newest.get(id) ?? unlisted
      const modifiedAt = before === null || (now !== null && now > before) ? now : before
      return [id, { total: totalItemCount, unread: unreadItemCount, modifiedAt }]
    }),
  )
  const isOther = states.size !== seen.folders.size || folders.some(({ id }) => !seen.folders.has(id))
  seen.hasOtherFolders ||= seen.hasLooked && isOther
  // A folder that was not asked for its changes was as it looked before.
  for (const [id, state] of states)
    if (!seen.compared.has(id)) seen.compared.set(id, seen.folders.get(id) ?? state)
  seen.folders = states
  seen.newestAt = recent[0]?.modifiedAt ?? seen.newestAt
  seen.recent = recent.filter(({ folderId }) => ids.has(folderId))
  seen.roots = new Set(
    folders.flatMap(({ parentFolderId }) =>
      parentFolderId && !ids.has(parentFolderId) ? [parentFolderId] : [],
    ),
  )
  seen.hasLooked = true
  for (const known of [seen.compared, seen.askedAt])
    for (const id of known.keys()) if (!ids.has(id)) known.delete(id)
  return toMailboxes(folders, seen.roles, id => ({ ...states.get(id) }))
}

/** The messages that were modified last, newest first: one call. */
export async function askRecent({ api }: GraphConnection, options: AskOptions): Promise<RecentMessage[]> {
  const { value } = await api.ask(
    {
      path: 'messages',
      query: {
        $select: 'id,parentFolderId,lastModifiedDateTime',
        $orderby: 'lastModifiedDateTime desc',
        $top: RECENT,
      },
      schema: statesSchema,
      accepts: [200],
    },
    options,
  )
  return value.value.flatMap(({ id, parentFolderId: folderId, lastModifiedDateTime: modifiedAt }) =>
    folderId && modifiedAt ? [{ id, folderId, modifiedAt }] : [],
  )
}

/** The newest modification in each folder. */
export function newestOf(recent: readonly RecentMessage[]): Map<string, number> {
  const newest = new Map<string, number>()
  for (const { folderId, modifiedAt } of recent)
    newest.set(folderId, Math.max(modifiedAt, newest.get(folderId) ?? modifiedAt))
  return newest
}

export function isSameState(one: FolderState, other: FolderState): boolean {
  return one.total === other.total && one.unread === other.unread && one.modifiedAt === other.modifiedAt
}
