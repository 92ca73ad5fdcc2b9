import { hash } from 'node:crypto'
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
 * The folders of a polled mailbox are listed at every second look. So a deletion, or a folder that came or went, shows at
 * the second look after it at the latest.
 */
const LOOKS_PER_LIST = 2
const MARK_LENGTH = 12
/** Roles are asked for again after this time: a user can choose another folder for one. */
const ROLES_MS_MAX = 6 * 3_600_000

type Newest = Pick<RecentMessage, 'modifiedAt'> & Pick<FolderState, 'mark'>

/**
 * Looks at the whole mailbox: counts of all folders, and the messages that were modified last. Two calls, and one more
 * for each folder that has children. The roles are asked for if there are new folders, and from time to time.
 * @param asked the messages that were modified last, if they were asked for
 */
export async function look(
  connection: GraphConnection,
  options: AskOptions,
  asked?: readonly RecentMessage[],
): Promise<{ mailboxes: RemoteMailbox[]; leftOut: number }> {
  const { api, seen } = connection
  // In this order, so that a folder which is made in between is in the list.
  const recent = asked ?? (await askRecent(connection, options))
  const folders = await askFolders(api, options)
  // A new folder may have a role: Exchange makes some folders only when they are used.
  const hasNew = folders.some(({ id }) => !seen.folders.has(id))
  const agoMs = api.now() - seen.rolesAskedAt
  const isDue = hasNew || agoMs < 0 || agoMs >= ROLES_MS_MAX
  const roles = seen.roles === null || isDue ? await askRoles(api, options) : seen.roles
  const ids = new Set(folders.map(({ id }) => id))
  const newest = newestOf(recent)
  const unlisted: Newest | null = isCut(connection, recent)
    ? { modifiedAt: recent.at(-1)!.modifiedAt, mark: null }
    : null
  const states = new Map(
    folders.map(({ id, totalItemCount = null, unreadItemCount = null }): [string, FolderState] => {
      const { modifiedAt = null, mark = null } = seen.folders.get(id) ?? {}
      const before = { modifiedAt, mark }
      const now = newest.get(id) ?? unlisted
      const last = now !== null && isModified(before, now) ? now : before
      return [id, { total: totalItemCount, unread: unreadItemCount, ...last }]
    }),
  )
  const isOther = states.size !== seen.folders.size || hasNew
  seen.hasOtherFolders ||= seen.hasLooked && isOther
  // A folder that was not asked for its changes was as it looked before.
  for (const [id, state] of states)
    if (!seen.compared.has(id)) seen.compared.set(id, seen.folders.get(id) ?? state)
  seen.folders = states
  if (roles !== seen.roles) seen.rolesAskedAt = api.now()
  seen.roles = roles
  seen.newestAt = recent[0]?.modifiedAt ?? seen.newestAt
  seen.recent = recent.filter(({ folderId }) => ids.has(folderId))
  seen.roots = new Set(
    folders.flatMap(({ parentFolderId }) =>
      parentFolderId && !ids.has(parentFolderId) ? [parentFolderId] : [],
    ),
  )
  seen.hasLooked = true
  seen.looksSinceList = 0
  for (const known of [seen.compared, seen.askedAt])
    for (const id of known.keys()) if (!ids.has(id)) known.delete(id)
  return toMailboxes(folders, roles, id => ({ ...states.get(id) }))
}

/**
 * Looks at a polled mailbox: at its newest modifications, which is one call. At every second look, or if something was
 * modified, it looks at all of the mailbox.
 */
export async function lookAgain(connection: GraphConnection, options: AskOptions): Promise<void> {
  const { seen } = connection
  const recent = await askRecent(connection, options)
  seen.looksSinceList += 1
  const isQuiet =
    !isCut(connection, recent) &&
    [...newestOf(recent)].every(([id, newest]) => {
      const before = seen.folders.get(id)
      return !before || !isModified(before, newest)
    })
  if (!isQuiet || seen.looksSinceList >= LOOKS_PER_LIST) await look(connection, options, recent)
}

/** Whether there may be more modifications since the last look than were read. */
function isCut({ seen }: GraphConnection, recent: readonly RecentMessage[]): boolean {
  const oldest = recent.at(-1)?.modifiedAt ?? null
  return recent.length >= RECENT && seen.newestAt !== null && oldest !== null && oldest > seen.newestAt
}

/** The messages that were modified last, newest first: one call. */
export async function askRecent({ api }: GraphConnection, options: AskOptions): Promise<RecentMessage[]> {
  const { value } = await api.ask(
    {
      path: 'messages',
      query: {
        $select: 'id,parentFolderId,receivedDateTime,lastModifiedDateTime',
        $orderby: 'lastModifiedDateTime desc',
        $top: RECENT,
      },
      schema: statesSchema,
      accepts: [200],
    },
    options,
  )
  return value.value.flatMap(({ id, parentFolderId, receivedDateTime = null, lastModifiedDateTime }) =>
    parentFolderId && lastModifiedDateTime
      ? [{ id, folderId: parentFolderId, receivedAt: receivedDateTime, modifiedAt: lastModifiedDateTime }]
      : [],
  )
}

/** The newest modification in each folder. */
export function newestOf(recent: readonly RecentMessage[]): Map<string, Newest> {
  const newest = new Map<string, Newest>()
  for (const [folderId, messages] of Map.groupBy(recent, message => message.folderId)) {
    const modifiedAt = Math.max(...messages.map(message => message.modifiedAt))
    const ids = messages.filter(message => message.modifiedAt === modifiedAt).map(({ id }) => id)
    const mark = hash('sha256', ids.toSorted().join(' '), 'base64url').slice(0, MARK_LENGTH)
    newest.set(folderId, { modifiedAt, mark })
  }
  return newest
}

export function isSameState(one: FolderState, other: FolderState): boolean {
  return one.total === other.total && one.unread === other.unread && !isModified(one, other)
}

/** Whether the state shows a newer modification. A folder without one in sight shows none. */
export function isModified(
  before: Pick<FolderState, 'modifiedAt' | 'mark'>,
  { modifiedAt, mark }: Pick<FolderState, 'modifiedAt' | 'mark'>,
): boolean {
  if (modifiedAt === null || modifiedAt < (before.modifiedAt ?? 0)) return false
  return modifiedAt !== before.modifiedAt || mark !== before.mark
}
