import type { MailboxRole } from '../mailbox-role.ts'
import type { FolderState } from './cursor.ts'

/** A message as the list of the newest modifications names it. */
export interface RecentMessage {
  id: string
  folderId: string
  receivedAt: number | null
  modifiedAt: number
}

/** The results of earlier looks at a mailbox, for one connection. */
export interface SeenState {
  /** Roles by the id of their folder; null before they were asked for. */
  roles: ReadonlyMap<string, MailboxRole> | null
  /** Milliseconds since 1970. */
  rolesAskedAt: number
  /** The folders of the last list. Messages elsewhere are not in the index. */
  folders: Map<string, FolderState>
  /** Whether there was a look yet. */
  hasLooked: boolean
  /** Looks since the folders were last listed. */
  looksSinceList: number
  /** Whether folders came or went since they were last listed for the index. */
  hasOtherFolders: boolean
  /** The parents of the folders at the top. */
  roots: Set<string>
  /** Folders that are known to be none of the user's. */
  hidden: Set<string>
  /** Folders of messages that were not found, with the time since when, in milliseconds since 1970. */
  unfound: Map<string, number>
  /** The newest modification in the mailbox at the last look; null if there was none. */
  newestAt: number | null
  /** The messages that were modified last. */
  recent: readonly RecentMessage[]
  /** The state of each folder when its changes were last asked for, or reported. */
  compared: Map<string, FolderState>
  /** Milliseconds since 1970 at which the changes of folders were last asked for over this connection. */
  askedAt: Map<string, number>
}

export function emptySeenState(): SeenState {
  return {
    roles: null,
    rolesAskedAt: 0,
    folders: new Map(),
    hasLooked: false,
    looksSinceList: 0,
    hasOtherFolders: false,
    roots: new Set(),
    hidden: new Set(),
    unfound: new Map(),
    newestAt: null,
    recent: [],
    compared: new Map(),
    askedAt: new Map(),
  }
}
