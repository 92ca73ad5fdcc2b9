import { type Folder, foldersBelow } from '../mailbox/folder.ts'
import { findFolder, type Mailbox, wellKnownFolder } from '../mailbox/mailbox.ts'
import type { Message } from '../mailbox/message.ts'
import { badRequest } from './errors.ts'
import { isSortable, messageFilter, readForOrder } from './message-filter.ts'
import { inOrder, parseOrder, requireEfficient } from './odata/order.ts'
import type { Query } from './odata/query.ts'
import { searchMessages } from './odata/search.ts'

/** The messages that a query asks for, all of them, in its order; by default the newest first. */
export function messagesOf(mailbox: Mailbox, folder: Folder | null, query: Query): readonly Message[] {
  const { options } = query
  const all = folder ? messagesIn(mailbox, folder) : mailMessages(mailbox)
  const search = options.get('search')
  if (search !== undefined) {
    for (const other of ['filter', 'orderby'] as const)
      if (options.has(other))
        throw badRequest(
          `The query parameter '$${other}' is not supported with '$search'.`,
          other === 'filter' ? 'SearchWithFilter' : 'SearchWithOrderBy',
        )
    if (options.has('skip')) throw badRequest("The query parameter '$skip' is not supported with '$search'.")
    return searchMessages(all, search)
  }
  const filterText = options.get('filter')
  const filter = filterText === undefined ? null : messageFilter(filterText)
  const order = parseOrder(options.get('orderby'), isSortable)
  requireEfficient(order, filter)
  const found = filter ? all.filter(message => filter.test(message)) : all
  return inOrder(found, isOwnOrder(order) ? [] : order, readForOrder)
}

/** Whether messages are in this order anyway. */
const isOwnOrder = (order: ReturnType<typeof parseOrder>): boolean =>
  order.length === 1 && order[0]?.property === 'receiveddatetime' && order[0].isDescending

/** The messages of a folder, newest first; of a search folder those that it finds. */
export function messagesIn(mailbox: Mailbox, folder: Folder): readonly Message[] {
  if (!folder.search) return folder.ordered
  const { sourceFolderIds, includeNestedFolders, filterQuery } = folder.search
  const sources = new Set(
    sourceFolderIds.flatMap(id => {
      const source = findFolder(mailbox, id)
      if (!source) return []
      return includeNestedFolders ? [...foldersBelow(source)] : [source]
    }),
  )
  const filter = filterQuery === '' ? null : messageFilter(filterQuery)
  return mailbox.ordered.filter(
    message => sources.has(message.folder) && (filter === null || filter.test(message)),
  )
}

/** All messages but those that only recovery can reach. */
function mailMessages(mailbox: Mailbox): readonly Message[] {
  const dumpster = wellKnownFolder(mailbox, 'recoverableitemsdeletions')
  if ([...foldersBelow(dumpster)].every(({ ordered }) => ordered.length === 0)) return mailbox.ordered
  const hidden = new Set(foldersBelow(dumpster))
  return mailbox.ordered.filter(({ folder }) => !hidden.has(folder))
}
