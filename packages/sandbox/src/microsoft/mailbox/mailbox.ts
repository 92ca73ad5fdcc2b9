import { newChangeLog } from './change-log.ts'
import type { WellKnownName } from './well-known-names.ts'
import type { Contacts } from './contact.ts'
import type { Calendars } from './event.ts'
import type { ChangeLog, Folder, FolderChange, HierarchyChange, Message } from './message.ts'

/** Folders, with those that were deleted, of which changes are kept. */
const HIERARCHY_MAX = 100_000

/** Called after each change of a message, with the folder in which it changed. */
export type MailboxListener = (folder: Folder, change: FolderChange) => void

/** A category of the user's list. */
export interface Category {
  readonly id: string
  readonly displayName: string
  color: string
}

/** The mail of one user or shared mailbox, as Exchange keeps it in memory. */
export interface Mailbox {
  readonly email: string
  readonly name: string
  readonly now: () => number
  /** The part of ids that names this mailbox. */
  readonly store: string
  /** Each message by its immutable id, and by the id of its present place. */
  readonly byId: Map<string, Message>
  /** Newest first, by the time of receipt. */
  readonly ordered: Message[]
  /** In the order of their last changes, the newest last. */
  readonly byChange: Set<Message>
  readonly byInternetId: Map<string, Set<Message>>
  readonly folders: Map<string, Folder>
  readonly wellKnown: Map<WellKnownName, Folder>
  /** The last change of each folder, oldest first. */
  readonly hierarchyLog: Map<Folder, HierarchyChange>
  readonly categories: Map<string, Category>
  /** The zone that its user has set, by the name that they wrote. */
  timeZone: string
  /** Whether meetings that its user declines stay in the calendar. */
  keepsDeclined: boolean
  readonly contacts: Contacts
  readonly calendars: Calendars
  /** Messages that the latest searches found, by what was searched for. They hold as long as nothing changes. */
  readonly searches: Map<string, { readonly lastChange: number; readonly found: readonly Message[] }>
  readonly listeners: Set<MailboxListener>
  /** Delta links up to these numbers have expired: those within a round, and those between two. */
  readonly expiredLinks: { next: number; delta: number }
  /** The newest link of each delta query, by the query's number. */
  readonly generations: Map<number, number>
  /** Counts everything that was ever made here, so that no id comes twice. */
  made: number
  /** Number of the last change of a message or a folder. */
  lastChange: number
  /** Whether the log of a folder gets the arrival of a message that was moved there. */
  logsArrival: () => boolean
}

export function nextNumber(mailbox: Mailbox): number {
  mailbox.made += 1
  return mailbox.made
}

export function nextChange(mailbox: Mailbox): number {
  mailbox.lastChange += 1
  return mailbox.lastChange
}

/** Finds a message by its immutable id, or the id of its present place. Ids differ in case. */
export const findMessage = (mailbox: Mailbox, id: string): Message | null => mailbox.byId.get(id) ?? null

/** Finds a folder by its id or a well-known name in any case. */
export function findFolder(mailbox: Mailbox, idOrName: string): Folder | null {
  const byId = mailbox.folders.get(idOrName)
  if (byId) return byId
  // The map has no other names; what is not one of them finds nothing.
  return mailbox.wellKnown.get(idOrName.toLowerCase() as WellKnownName) ?? null
}

/** The folder of a well-known name, which every mailbox has. */
export function wellKnownFolder(mailbox: Mailbox, name: WellKnownName): Folder {
  const folder = mailbox.wellKnown.get(name)
  if (!folder) throw new Error(`the mailbox has no ${name}`)
  return folder
}

/** A folder with nothing in it, which is in the mailbox from now on. */
export function putFolder(
  mailbox: Mailbox,
  folder: Pick<Folder, 'id' | 'number' | 'wellKnownName' | 'displayName' | 'parent' | 'isHidden' | 'search'>,
): Folder {
  const log: ChangeLog<Message> = newChangeLog()
  const made: Folder = { ...folder, children: new Set(), ordered: [], unreadCount: 0, log }
  mailbox.folders.set(made.id, made)
  if (made.wellKnownName !== null) mailbox.wellKnown.set(made.wellKnownName, made)
  made.parent?.children.add(made)
  recordHierarchy(mailbox, 'changed', made)
  return made
}

/** Notes that a folder was made, changed or removed. Of each folder only the last change is kept. */
export function recordHierarchy(mailbox: Mailbox, kind: HierarchyChange['kind'], folder: Folder): void {
  const { hierarchyLog } = mailbox
  hierarchyLog.delete(folder)
  hierarchyLog.set(folder, { number: nextChange(mailbox), kind, folder })
  const [oldest] = hierarchyLog.keys()
  if (hierarchyLog.size > HIERARCHY_MAX && oldest) hierarchyLog.delete(oldest)
}
