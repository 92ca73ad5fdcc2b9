import type { GraphApi } from '../api.ts'
import { KeptPages } from '../kept-pages.ts'
import type { Subscribing } from '../subscription.ts'
import type { GraphItem } from '../items.ts'

/** State of one connection to the contacts of a mailbox. All of it can be requested again. */
export interface ContactsConnection {
  api: GraphApi
  /** Ends all requests over this connection. */
  signal: AbortSignal
  subscribing: Subscribing
  /** The ids of the folders when they were last listed; null before that. */
  folderIds: Set<string> | null
  /** Folders that are known to be none of contacts, such as Deleted Items. */
  otherFolderIds: Set<string>
  /** Pages that were read to see whether anything changed, by their links. Following a folder takes them. */
  pages: KeptPages<GraphItem>
}

export function openContactsConnection(
  given: Pick<ContactsConnection, 'api' | 'signal' | 'subscribing'>,
): ContactsConnection {
  return { ...given, folderIds: null, otherFolderIds: new Set(), pages: new KeptPages() }
}
