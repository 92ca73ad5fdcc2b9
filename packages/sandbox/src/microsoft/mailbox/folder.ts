import type { ChangeLog } from './change-log.ts'
import type { Message } from './message.ts'

/** Names by which the API finds folders, whatever they are called. */
export const WELL_KNOWN_NAMES = [
  'archive',
  'clutter',
  'conflicts',
  'conversationhistory',
  'deleteditems',
  'drafts',
  'inbox',
  'junkemail',
  'localfailures',
  'msgfolderroot',
  'outbox',
  'recoverableitemsdeletions',
  'scheduled',
  'searchfolders',
  'sentitems',
  'serverfailures',
  'syncissues',
] as const

export type WellKnownName = (typeof WELL_KNOWN_NAMES)[number]

/** A search that a folder shows as if its hits were in it. */
export interface SearchFolder {
  readonly sourceFolderIds: readonly string[]
  readonly includeNestedFolders: boolean
  /** A `$filter` on messages. */
  readonly filterQuery: string
}

/** A folder of a mailbox. Only the functions of `folders.ts` and `messages.ts` change it. */
export interface Folder {
  readonly id: string
  readonly number: number
  readonly wellKnownName: WellKnownName | null
  readonly displayName: string
  /** Null for the two roots: that of mail, and that of search folders. */
  readonly parent: Folder | null
  readonly isHidden: boolean
  readonly search: SearchFolder | null
  readonly children: Set<Folder>
  /** Newest first, by the time of receipt. */
  readonly ordered: Message[]
  readonly unreadCount: number
  readonly log: ChangeLog
}

/** A change of the folders of a mailbox. */
export interface HierarchyChange {
  readonly number: number
  readonly kind: 'changed' | 'removed'
  readonly folder: Folder
}

/** The folder itself, and all below it. */
export function* foldersBelow(folder: Folder): Generator<Folder> {
  yield folder
  for (const child of folder.children) yield* foldersBelow(child)
}
