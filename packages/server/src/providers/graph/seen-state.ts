import type { MailboxRole } from '../mailbox-role.ts'

/** The results of earlier looks at a mailbox, for one connection. */
export interface SeenState {
  /** Roles by the id of their folder; null before they were asked for. */
  roles: ReadonlyMap<string, MailboxRole> | null
  /** Ids of the folders that the last list has. Messages elsewhere are not in the index. */
  folderIds: ReadonlySet<string>
  /** The newest modification of a message that was seen in each folder, in milliseconds since 1970. */
  modifiedAt: Map<string, number>
  /** The newest modification in the whole mailbox; null before the first look. */
  newestAt: number | null
}

export function emptySeenState(): SeenState {
  return { roles: null, folderIds: new Set(), modifiedAt: new Map(), newestAt: null }
}
