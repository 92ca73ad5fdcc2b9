import type { Folder, SearchFolder } from '../mailbox/message.ts'
import { foldersBelow } from '../mailbox/folder.ts'
import { addFolder, changeFolder, findChild, removeFolder } from '../mailbox/folders.ts'
import { findFolder, wellKnownFolder } from '../mailbox/mailbox.ts'
import { copyMessage } from '../mailbox/messages.ts'
import { badRequest, folderExists, GraphRefusal, itemNotFound } from './errors.ts'
import { presentFolder, rootOf, WHOLE_FOLDER } from './folder-shape.ts'
import { messageFilter } from './message-filter.ts'
import { requireFolder } from './messages.ts'
import {
  created,
  type GraphAnswer,
  type GraphMethod,
  type MethodCall,
  noContent,
  ok,
  WRITE,
} from './method.ts'

const NAME_CHARACTERS_MAX = 250
const CHILDREN_MAX = 10_000
const SOURCES_MAX = 100

/** Methods that change folders. */
export const folderChangeMethods: readonly GraphMethod[] = [
  { http: 'POST', path: 'mailFolders', scopes: WRITE, run: call => create(call, rootOf(call.mailbox)) },
  {
    http: 'POST',
    path: 'mailFolders/{folder}/childFolders',
    scopes: WRITE,
    run: call => create(call, folderOf(call)),
  },
  { http: 'PATCH', path: 'mailFolders/{folder}', scopes: WRITE, run: change },
  { http: 'DELETE', path: 'mailFolders/{folder}', scopes: WRITE, run: remove },
  { http: 'POST', path: 'mailFolders/{folder}/move', scopes: WRITE, run: move },
  { http: 'POST', path: 'mailFolders/{folder}/copy', scopes: WRITE, run: copy },
  {
    http: 'POST',
    path: 'mailFolders/{folder}/permanentDelete',
    scopes: WRITE,
    needs: 'permanentDelete',
    run: removeForGood,
  },
]

const folderOf = (call: MethodCall): Folder => requireFolder(call, call.params['folder'])

function create(call: MethodCall, parent: Folder): GraphAnswer {
  const { mailbox } = call
  const body = call.json()
  const displayName = nameIn(body)
  const search = searchIn(call, body)
  if (findChild(parent, displayName)) throw folderExists()
  if (parent.children.size >= CHILDREN_MAX)
    throw new GraphRefusal(400, 'ErrorFolderChildrenCountExceeded', 'The folder has too many child folders.')
  const folder = addFolder(mailbox, { displayName, parent, isHidden: body['isHidden'] === true, search })
  return created(presentFolder(mailbox, folder, WHOLE_FOLDER))
}

function change(call: MethodCall): GraphAnswer {
  const { mailbox } = call
  const folder = folderOf(call)
  const body = call.json()
  const displayName = 'displayName' in body ? nameIn(body) : folder.displayName
  if (displayName !== folder.displayName) {
    requireOwn(folder, 'ErrorInvalidRequest', 'The display name of a distinguished folder cannot be changed.')
    const other = folder.parent && findChild(folder.parent, displayName)
    if (other && other !== folder) throw folderExists()
  }
  const search = folder.search && searchIn(call, { ...folder.search, ...body, '@odata.type': SEARCH_TYPE })
  changeFolder(mailbox, folder, { displayName, ...(search && { search }) })
  return ok(presentFolder(mailbox, folder, WHOLE_FOLDER))
}

function move(call: MethodCall): GraphAnswer {
  const { mailbox } = call
  const folder = folderOf(call)
  requireOwn(folder, 'ErrorMoveDistinguishedFolder', 'Distinguished folders cannot be moved.')
  const parent = destinationOf(call)
  if ([...foldersBelow(folder)].includes(parent))
    throw badRequest('A folder cannot be moved below itself.', 'ErrorMoveCopyFailed')
  const other = findChild(parent, folder.displayName)
  if (other && other !== folder) throw folderExists()
  changeFolder(mailbox, folder, { parent })
  return ok(presentFolder(mailbox, folder, WHOLE_FOLDER))
}

function copy(call: MethodCall): GraphAnswer {
  const { mailbox } = call
  const folder = folderOf(call)
  const parent = destinationOf(call)
  if ([...foldersBelow(folder)].includes(parent))
    throw badRequest('A folder cannot be copied below itself.', 'ErrorMoveCopyFailed')
  if (findChild(parent, folder.displayName)) throw folderExists()
  return ok(presentFolder(mailbox, copyInto(call, folder, parent), WHOLE_FOLDER))
}

function copyInto(call: MethodCall, from: Folder, parent: Folder): Folder {
  const { displayName, isHidden, search } = from
  const made = addFolder(call.mailbox, { displayName, parent, isHidden, search })
  for (const message of from.ordered.toReversed()) copyMessage(call.mailbox, message, made)
  for (const child of from.children) copyInto(call, child, made)
  return made
}

/** A deleted folder goes below Deleted Items; one that is there already is deleted for good. */
function remove(call: MethodCall): GraphAnswer {
  const { mailbox } = call
  const folder = folderOf(call)
  requireOwn(folder, 'ErrorDeleteDistinguishedFolder', 'Distinguished folders cannot be deleted.')
  const deleted = wellKnownFolder(mailbox, 'deleteditems')
  if (folder.search || [...foldersBelow(deleted)].includes(folder)) removeFolder(mailbox, folder)
  else changeFolder(mailbox, folder, { parent: deleted, displayName: freeName(deleted, folder.displayName) })
  return noContent
}

function removeForGood(call: MethodCall): GraphAnswer {
  const folder = folderOf(call)
  requireOwn(folder, 'ErrorDeleteDistinguishedFolder', 'Distinguished folders cannot be deleted.')
  removeFolder(call.mailbox, folder)
  return noContent
}

/** The name, followed by a number if the folder has a child of that name already. */
function freeName(parent: Folder, name: string): string {
  for (let number = 0; number <= CHILDREN_MAX; number += 1) {
    const tried = number === 0 ? name : `${name}${number}`
    if (!findChild(parent, tried)) return tried
  }
  throw folderExists()
}

function destinationOf(call: MethodCall): Folder {
  const id = call.json()['destinationId']
  if (typeof id !== 'string' || id === '')
    throw badRequest('The destinationId is required.', 'ErrorInvalidRequest')
  const folder = findFolder(call.mailbox, id)
  if (!folder || folder.search) throw itemNotFound()
  return folder
}

function requireOwn({ wellKnownName }: Folder, code: string, message: string): void {
  if (wellKnownName !== null) throw new GraphRefusal(403, code, message)
}

function nameIn(body: Record<string, unknown>): string {
  const name = body['displayName']
  if (typeof name !== 'string' || name.trim() === '' || name.length > NAME_CHARACTERS_MAX)
    throw badRequest('The display name of the folder is missing or too long.', 'ErrorInvalidRequest')
  return name.trim()
}

const SEARCH_TYPE = '#microsoft.graph.mailSearchFolder'

/** The search of a new search folder; null for any other folder. */
function searchIn({ mailbox }: MethodCall, body: Record<string, unknown>): SearchFolder | null {
  if (String(body['@odata.type']).replace(/^#/, '') !== SEARCH_TYPE.slice(1)) return null
  const { includeNestedFolders = false, sourceFolderIds, filterQuery = '' } = body
  const sources = Array.isArray(sourceFolderIds) ? sourceFolderIds.map(String) : []
  if (sources.length === 0 || sources.length > SOURCES_MAX || typeof filterQuery !== 'string')
    throw badRequest('A search folder needs sourceFolderIds and a filterQuery.', 'ErrorInvalidRequest')
  if (filterQuery !== '') messageFilter(filterQuery)
  const folders = sources.map(id => {
    const found = findFolder(mailbox, id)
    if (!found) throw itemNotFound()
    return found.id
  })
  return { includeNestedFolders: includeNestedFolders === true, sourceFolderIds: folders, filterQuery }
}
