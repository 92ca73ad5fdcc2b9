import { foldersBelow } from '../mailbox/folder.ts'
import { findFolder, type Mailbox, wellKnownFolder } from '../mailbox/mailbox.ts'
import type { Folder, Message } from '../mailbox/message.ts'
import { badRequest } from './errors.ts'
import { isSortable, messageFilter, readerOf } from './message-filter.ts'
import { inOrder, type Ordering, parseOrder, requireEfficient } from './odata/order.ts'
import type { Query } from './odata/query.ts'
import { searchMessages } from './odata/search.ts'

/** All messages that a query asks for, in its order; by default the newest first. */
export function messagesOf(mailbox: Mailbox, folder: Folder | null, query: Query): readonly Message[] {
  const { options } = query
  const search = options.get('search')
  if (search !== undefined) {
    for (const other of ['filter', 'orderby'] as const)
      if (options.has(other))
        throw badRequest(
          `The query parameter '$${other}' is not supported with '$search'.`,
          other === 'filter' ? 'SearchWithFilter' : 'SearchWithOrderBy',
        )
    if (options.has('skip')) throw badRequest("The query parameter '$skip' is not supported with '$search'.")
    return findHits(mailbox, folder, search)
  }
  const filterText = options.get('filter')
  const filter = filterText === undefined ? null : messageFilter(filterText)
  const order = parseOrder(options.get('orderby'), isSortable)
  requireEfficient(order, filter)
  const all = folder ? messagesIn(mailbox, folder) : mailMessages(mailbox, listFor(mailbox, order))
  const filtered = filter ? all.filter(message => filter.test(message)) : all
  return inOrder(filtered, isOwnOrder(order) ? [] : order, readerOf)
}

const SEARCHES_KEPT = 10

/** The messages that a search finds. Its later pages find the same as long as nothing changes. */
function findHits(mailbox: Mailbox, folder: Folder | null, search: string): readonly Message[] {
  const { searches, lastChange } = mailbox
  const key = `${folder?.id ?? ''} ${search}`
  const known = searches.get(key)
  if (known?.lastChange === lastChange) return known.found
  const all = folder ? messagesIn(mailbox, folder) : mailMessages(mailbox, mailbox.ordered)
  const hits = searchMessages(all, search)
  searches.delete(key)
  searches.set(key, { lastChange, found: hits })
  const [oldest] = searches.keys()
  if (searches.size > SEARCHES_KEPT && oldest !== undefined) searches.delete(oldest)
  return hits
}

/** A list that is almost in the order that is asked for, so that sorting it is quick. */
function listFor(mailbox: Mailbox, [first]: readonly Ordering[]): readonly Message[] {
  if (first?.property !== 'lastmodifieddatetime') return mailbox.ordered
  const oldestFirst = [...mailbox.byChange]
  return first.isDescending ? oldestFirst.toReversed() : oldestFirst
}

/** Whether messages are in this order anyway. */
const isOwnOrder = (order: readonly Ordering[]): boolean =>
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
function mailMessages(mailbox: Mailbox, all: readonly Message[]): readonly Message[] {
  const dumpster = wellKnownFolder(mailbox, 'recoverableitemsdeletions')
  if ([...foldersBelow(dumpster)].every(({ ordered }) => ordered.length === 0)) return all
  const hidden = new Set(foldersBelow(dumpster))
  return all.filter(({ folder }) => !hidden.has(folder))
}
