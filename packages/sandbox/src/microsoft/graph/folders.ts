import type { Folder } from '../mailbox/message.ts'
import { childrenOf, folderFilter, folderViewOf, presentFolder, rootOf } from './folder-shape.ts'
import { type GraphAnswer, type GraphMethod, type MethodCall, ok, READ } from './method.ts'
import { requireFolder } from './messages.ts'
import { contextOf, pageOf } from './odata/paging.ts'
import type { Option } from './odata/query.ts'

const OPTIONS: readonly Option[] = ['select', 'expand', 'filter', 'top', 'skip', 'count']

/** Methods that read folders. */
export const folderMethods: readonly GraphMethod[] = [
  {
    http: 'GET',
    path: 'mailFolders',
    scopes: READ,
    options: OPTIONS,
    run: call => list(call, rootOf(call.mailbox)),
  },
  {
    http: 'GET',
    path: 'mailFolders/$count',
    scopes: READ,
    run: call => count(call, rootOf(call.mailbox)),
  },
  { http: 'GET', path: 'mailFolders/{folder}', scopes: READ, options: ['select', 'expand'], run: get },
  {
    http: 'GET',
    path: 'mailFolders/{folder}/childFolders',
    scopes: READ,
    options: OPTIONS,
    run: call => list(call, requireFolder(call, call.params['folder'])),
  },
  {
    http: 'GET',
    path: 'mailFolders/{parent}/childFolders/{folder}',
    scopes: READ,
    options: ['select', 'expand'],
    run: get,
  },
  {
    http: 'GET',
    path: 'mailFolders/{folder}/childFolders/$count',
    scopes: READ,
    run: call => count(call, requireFolder(call, call.params['folder'])),
  },
]

function list({ mailbox, query, url, prefer }: MethodCall, parent: Folder): GraphAnswer {
  const view = folderViewOf(query)
  const filterText = query.options.get('filter')
  const filter = filterText === undefined ? null : folderFilter(mailbox, filterText)
  const found = childrenOf(parent, view.isHiddenShown).filter(folder => filter?.test(folder) ?? true)
  const { items, annotations } = pageOf(found, query, url, prefer.pageSize)
  return ok({
    '@odata.context': contextOf(url, `users('${encodeURIComponent(mailbox.email)}')/mailFolders`),
    ...annotations,
    value: items.map(folder => presentFolder(mailbox, folder, view)),
  })
}

function count({ query }: MethodCall, parent: Folder): GraphAnswer {
  const number = childrenOf(parent, folderViewOf(query).isHiddenShown).length
  return { status: 200, bytes: Buffer.from(String(number)), contentType: 'text/plain' }
}

function get(call: MethodCall): GraphAnswer {
  const { mailbox, params, query, url } = call
  const folder = requireFolder(call, params['folder'])
  return ok({
    '@odata.context': contextOf(url, `users('${encodeURIComponent(mailbox.email)}')/mailFolders/$entity`),
    ...presentFolder(mailbox, folder, folderViewOf(query)),
  })
}
