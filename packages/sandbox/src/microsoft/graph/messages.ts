import { findFolder, findMessage } from '../mailbox/mailbox.ts'
import type { Folder, Message } from '../mailbox/message.ts'
import { badRequest, itemNotFound, malformedId } from './errors.ts'
import { messagesOf } from './message-list.ts'
import { presentMessage, viewOf } from './message-shape.ts'
import { type GraphAnswer, type GraphMethod, type MethodCall, ok, READ } from './method.ts'
import { contextOf, linkWith, pageOf } from './odata/paging.ts'
import type { Option } from './odata/query.ts'

const LIST_OPTIONS: readonly Option[] = [
  'select',
  'expand',
  'filter',
  'orderby',
  'search',
  'top',
  'skip',
  'count',
  'skiptoken',
]

/** Paths of one message: in the mailbox, and in its folder. */
export const MESSAGE_PATHS = ['messages/{message}', 'mailFolders/{folder}/messages/{message}'] as const

const LIST_PATHS = [
  'messages',
  'mailFolders/{folder}/messages',
  'mailFolders/{parent}/childFolders/{folder}/messages',
] as const

export const messageMethods: readonly GraphMethod[] = [
  ...LIST_PATHS.map((path): GraphMethod => ({
    http: 'GET',
    path,
    scopes: READ,
    options: LIST_OPTIONS,
    run: list,
  })),
  ...LIST_PATHS.map((path): GraphMethod => ({
    http: 'GET',
    path: `${path}/$count`,
    scopes: READ,
    options: ['filter'],
    run: count,
  })),
  ...MESSAGE_PATHS.map((path): GraphMethod => ({
    http: 'GET',
    path,
    scopes: READ,
    options: ['select', 'expand'],
    run: get,
  })),
  ...MESSAGE_PATHS.map((path): GraphMethod => ({
    http: 'GET',
    path: `${path}/$value`,
    scopes: READ,
    run: getMime,
  })),
]

/** Finds the folder of a call. Refuses a name or an id that no folder has. */
export function requireFolder(
  { mailbox }: Pick<MethodCall, 'mailbox'>,
  idOrName: string | undefined,
): Folder {
  const folder = findFolder(mailbox, idOrName ?? '')
  if (folder) return folder
  throw isIdForm(idOrName) ? itemNotFound() : malformedId()
}

/** Finds the message of a call, which has to be in the folder of the path if there is one. */
export function requireMessage({ mailbox, params, graph }: MethodCall): Message {
  const id = params['message']
  const message = findMessage(mailbox, id ?? '')
  if (!message) throw isIdForm(id) ? itemNotFound() : malformedId()
  const folder = params['folder'] === undefined ? null : requireFolder({ mailbox }, params['folder'])
  if (folder && folder !== message.folder) throw itemNotFound()
  if (graph.writing.absences.read(message)) throw itemNotFound()
  return message
}

export const isIdForm = (id: string | undefined): boolean => /^A[AQ][A-Za-z0-9+/_=-]{20,}$/.test(id ?? '')

function list(call: MethodCall): GraphAnswer {
  const { mailbox, params, query, url, prefer } = call
  const folder = params['folder'] === undefined ? null : requireFolder(call, params['folder'])
  const view = viewOf(query, prefer)
  const found = messagesOf(mailbox, folder, query)
  const page = query.options.has('search')
    ? searchPage(call, found)
    : pageOf(found, query, url, prefer.pageSize)
  return ok({
    '@odata.context': contextOf(
      url,
      folder
        ? `users('${encodeURIComponent(mailbox.email)}')/mailFolders('${folder.id}')/messages`
        : `users('${encodeURIComponent(mailbox.email)}')/messages`,
    ),
    ...page.annotations,
    value: page.items.map(message => presentMessage(message, view)),
  })
}

/** Pages of a search have tokens in their links, not numbers. */
function searchPage({ query, url, prefer }: MethodCall, found: readonly Message[]) {
  const token = query.options.get('skiptoken')
  const skip = token === undefined ? 0 : Number(Buffer.from(token, 'base64url').toString('latin1'))
  if (!Number.isSafeInteger(skip) || skip < 0) throw badRequest('The skip token is invalid.')
  const options = new Map([...query.options].filter(([name]) => name !== 'skip'))
  const { items, annotations } = pageOf(found.slice(skip), { ...query, options }, url, prefer.pageSize)
  if (annotations['@odata.nextLink'] === undefined) return { items, annotations }
  const next = Buffer.from(String(skip + items.length)).toString('base64url')
  return { items, annotations: { ...annotations, '@odata.nextLink': linkWith(url, { $skiptoken: next }) } }
}

function count(call: MethodCall): GraphAnswer {
  const { mailbox, params, query } = call
  const folder = params['folder'] === undefined ? null : requireFolder(call, params['folder'])
  const found = messagesOf(mailbox, folder, query)
  return { status: 200, bytes: Buffer.from(String(found.length)), contentType: 'text/plain' }
}

function get(call: MethodCall): GraphAnswer {
  const view = viewOf(call.query, call.prefer)
  const message = requireMessage(call)
  return ok({
    '@odata.context': contextOf(
      call.url,
      `users('${encodeURIComponent(call.mailbox.email)}')/messages/$entity`,
    ),
    ...presentMessage(message, view),
  })
}

function getMime(call: MethodCall): GraphAnswer {
  return { status: 200, bytes: requireMessage(call).raw, contentType: 'text/plain' }
}
