import type { Contact, ContactFolder } from '../../mailbox/contact.ts'
import { itemNotFound } from '../errors.ts'
import { type GraphAnswer, type GraphMethod, type MethodCall, ok, READ_CONTACTS } from '../method.ts'
import { inOrder, parseOrder, requireEfficient } from '../odata/order.ts'
import { contextOf, pageOf } from '../odata/paging.ts'
import type { Option } from '../odata/query.ts'
import { contactFilter, contactReader, isContactOrder } from './contact-filter.ts'
import { contactViewOf, presentContact, presentContactFolder, presentPhoto } from './contact-shape.ts'
import { CONTACT_PATHS, FOLDER_PATHS, LIST_PATHS, requireContact, requireContactFolder } from './find.ts'

const LIST_OPTIONS: readonly Option[] = ['select', 'expand', 'filter', 'orderby', 'top', 'skip', 'count']

const read = (path: string, run: GraphMethod['run'], options: readonly Option[] = []): GraphMethod => ({
  http: 'GET',
  path,
  scopes: READ_CONTACTS,
  options,
  run,
})

/** Methods that read contacts, their photos and their folders. */
export const contactReadMethods: readonly GraphMethod[] = [
  ...LIST_PATHS.map(path => read(path, list, LIST_OPTIONS)),
  ...LIST_PATHS.map(path => read(`${path}/$count`, count, ['filter'])),
  ...CONTACT_PATHS.map(path => read(path, get, ['select', 'expand'])),
  ...CONTACT_PATHS.map(path => read(`${path}/photo`, getPhoto)),
  ...CONTACT_PATHS.map(path => read(`${path}/photo/$value`, getPhotoBytes)),
  read('contactFolders', call => listFolders(call, call.mailbox.contacts.main), ['select', 'top', 'skip']),
  ...FOLDER_PATHS.map(path => read(path, getFolder, ['select'])),
  read('contactFolders/{folder}/childFolders', call => listFolders(call, requireContactFolder(call)), [
    'select',
    'top',
    'skip',
  ]),
]

export const contactsContext = ({ url, mailbox }: MethodCall, of: string): string =>
  contextOf(url, `users('${encodeURIComponent(mailbox.email)}')/${of}`)

/** The contacts of a folder that a query asks for; by default the newest first. */
function contactsOf(call: MethodCall): readonly Contact[] {
  const { options } = call.query
  const filterText = options.get('filter')
  const filter = filterText === undefined ? null : contactFilter(filterText)
  const order = parseOrder(options.get('orderby'), isContactOrder)
  requireEfficient(order, filter)
  const all = [...requireContactFolder(call).contacts].toReversed()
  return inOrder(filter ? all.filter(contact => filter.test(contact)) : all, order, contactReader)
}

function list(call: MethodCall): GraphAnswer {
  const { query, url, prefer } = call
  const view = contactViewOf(query, prefer)
  const { items, annotations } = pageOf(contactsOf(call), query, url, prefer.pageSize)
  return ok({
    '@odata.context': contactsContext(call, 'contacts'),
    ...annotations,
    value: items.map(contact => presentContact(contact, view)),
  })
}

function count(call: MethodCall): GraphAnswer {
  const { length } = contactsOf(call)
  return { status: 200, bytes: Buffer.from(String(length)), contentType: 'text/plain' }
}

function get(call: MethodCall): GraphAnswer {
  const view = contactViewOf(call.query, call.prefer)
  return ok({
    '@odata.context': contactsContext(call, 'contacts/$entity'),
    ...presentContact(requireContact(call), view),
  })
}

function getPhoto(call: MethodCall): GraphAnswer {
  const contact = requireContact(call)
  if (contact.photo === null) throw itemNotFound()
  return ok({
    '@odata.context': contactsContext(call, 'contacts/photo/$entity'),
    ...presentPhoto(contact.photo, contact),
  })
}

function getPhotoBytes(call: MethodCall): GraphAnswer {
  const { photo } = requireContact(call)
  if (photo === null) throw itemNotFound()
  return { status: 200, bytes: photo.bytes, contentType: photo.contentType }
}

/** The folders below one. The default folder is in no list (github.com/microsoftgraph/microsoft-graph-docs-contrib/issues/4041). */
function listFolders(call: MethodCall, parent: ContactFolder): GraphAnswer {
  const { query, url, prefer, mailbox } = call
  const all = [...parent.children].toSorted((a, b) => (a.displayName < b.displayName ? -1 : 1))
  const { items, annotations } = pageOf(all, query, url, prefer.pageSize)
  const rootId = rootOf(mailbox)
  return ok({
    '@odata.context': contactsContext(call, 'contactFolders'),
    ...annotations,
    value: items.map(folder => presentContactFolder(folder, rootId)),
  })
}

function getFolder(call: MethodCall): GraphAnswer {
  return ok({
    '@odata.context': contactsContext(call, 'contactFolders/$entity'),
    ...presentContactFolder(requireContactFolder(call), rootOf(call.mailbox)),
  })
}

export const rootOf = ({ wellKnown }: MethodCall['mailbox']): string =>
  wellKnown.get('msgfolderroot')?.id ?? ''
