import type { Folder } from '../mailbox/message.ts'
import { folderId } from '../mailbox/ids.ts'
import { type Mailbox, wellKnownFolder } from '../mailbox/mailbox.ts'
import { messagesIn } from './message-list.ts'
import { type Filter, type FilterSubject, parseFilter, type Value } from './odata/filter.ts'
import { type Expanded, parseExpand, parseSelect } from './odata/select.ts'
import type { Query } from './odata/query.ts'

/** Properties and ids of folders that a client asked for. */
export interface FolderView {
  readonly select: readonly string[] | null
  readonly expand: readonly Expanded[]
  readonly isHiddenShown: boolean
}

const TYPE = 'microsoft.graph.mailFolder'
const NAMES = [
  'id',
  'displayName',
  'parentFolderId',
  'childFolderCount',
  'unreadItemCount',
  'totalItemCount',
  'isHidden',
] as const
const SEARCH_NAMES = ['isSupported', 'includeNestedFolders', 'sourceFolderIds', 'filterQuery'] as const
const NAVIGATIONS = [
  'childFolders',
  'messages',
  'messageRules',
  'singleValueExtendedProperties',
  'multiValueExtendedProperties',
]

export function folderViewOf(query: Query): FolderView {
  return {
    select: parseSelect(query.options.get('select'), [...NAMES, ...SEARCH_NAMES, ...NAVIGATIONS], TYPE),
    expand: parseExpand(query.options.get('expand'), ['childFolders'], TYPE),
    isHiddenShown: query.parameters.get('includehiddenfolders')?.toLowerCase() === 'true',
  }
}

export const WHOLE_FOLDER: FolderView = { select: null, expand: [], isHiddenShown: false }

/** A folder as Graph answers it. */
export function presentFolder(mailbox: Mailbox, folder: Folder, view: FolderView): Record<string, unknown> {
  const all = valuesOf(mailbox, folder)
  const shown = view.select
    ? Object.fromEntries(Object.entries(all).filter(([name]) => view.select?.includes(name)))
    : all
  return {
    ...(folder.search && { '@odata.type': '#microsoft.graph.mailSearchFolder' }),
    ...shown,
    ...(view.expand.length > 0 && {
      childFolders: childrenOf(folder, view.isHiddenShown).map(child =>
        presentFolder(mailbox, child, { ...view, select: null, expand: [] }),
      ),
    }),
  }
}

function valuesOf(mailbox: Mailbox, folder: Folder): Record<string, unknown> {
  const found = folder.search ? messagesIn(mailbox, folder) : null
  return {
    id: folder.id,
    displayName: folder.displayName,
    // The roots have a parent that the API does not show.
    parentFolderId: folder.parent?.id ?? folderId(mailbox.store, 0),
    childFolderCount: childrenOf(folder, false).length,
    unreadItemCount: found ? found.filter(({ isRead }) => !isRead).length : folder.unreadCount,
    totalItemCount: found ? found.length : folder.ordered.length,
    isHidden: folder.isHidden,
    ...(folder.search && {
      isSupported: true,
      includeNestedFolders: folder.search.includeNestedFolders,
      sourceFolderIds: folder.search.sourceFolderIds,
      filterQuery: folder.search.filterQuery,
    }),
  }
}

/** The child folders of a folder, in Exchange's order of their names. */
export const childrenOf = (folder: Folder, isHiddenShown: boolean): Folder[] =>
  [...folder.children]
    .filter(child => isHiddenShown || !child.isHidden)
    .toSorted((a, b) => (a.displayName.toLowerCase() < b.displayName.toLowerCase() ? -1 : 1))

const KINDS: Readonly<Record<string, 'text' | 'number' | 'boolean'>> = {
  id: 'text',
  displayname: 'text',
  parentfolderid: 'text',
  childfoldercount: 'number',
  unreaditemcount: 'number',
  totalitemcount: 'number',
  ishidden: 'boolean',
}

/** A `$filter` on folders. */
export function folderFilter(mailbox: Mailbox, text: string): Filter<Folder> {
  const subject: FilterSubject<Folder> = {
    reader([property = '']) {
      const name = NAMES.find(one => one.toLowerCase() === property.toLowerCase()) ?? 'id'
      // The properties of the table above have no other values.
      return folder => valuesOf(mailbox, folder)[name] as Value
    },
    lister: () => () => [],
    kindOf: ([property = '', ...more]) => (more.length > 0 ? null : (KINDS[property.toLowerCase()] ?? null)),
  }
  return parseFilter(text, subject)
}

/** The folder that has the top-level folders. */
export const rootOf = (mailbox: Mailbox): Folder => wellKnownFolder(mailbox, 'msgfolderroot')
