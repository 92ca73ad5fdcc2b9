import type { Contact } from '../../mailbox/contact.ts'
import {
  addContact,
  addContactFolder,
  changeContact,
  moveContact,
  removeContact,
  removeContactFolder,
  renameContactFolder,
} from '../../mailbox/contacts.ts'
import { badRequest, folderExists, GraphRefusal } from '../errors.ts'
import {
  changingBy,
  created,
  type GraphAnswer,
  type GraphMethod,
  type MethodCall,
  noContent,
  ok,
  WRITE_CONTACTS,
} from '../method.ts'
import { etagOf } from '../message-shape.ts'
import { requireMatch } from '../require-match.ts'
import { readContactInput } from './contact-input.ts'
import { presentContact, presentContactFolder, wholeContact } from './contact-shape.ts'
import { CONTACT_PATHS, FOLDER_PATHS, LIST_PATHS, requireContact, requireContactFolder } from './find.ts'
import { contactsContext, rootOf } from './reading.ts'

const NAME_CHARACTERS_MAX = 250

const write = changingBy(WRITE_CONTACTS)

/** Methods that change contacts, their photos and their folders. */
export const contactWriteMethods: readonly GraphMethod[] = [
  ...LIST_PATHS.map(path => write('POST', path, create)),
  ...CONTACT_PATHS.flatMap(path => [
    write('PATCH', path, change),
    write('DELETE', path, remove),
    write('POST', `${path}/permanentDelete`, removeForGood, 'permanentDelete'),
    write('PUT', `${path}/photo/$value`, putPhoto),
    write('PATCH', `${path}/photo/$value`, putPhoto),
  ]),
  write('POST', 'contactFolders', createFolder),
  write('POST', 'contactFolders/{folder}/childFolders', createFolder),
  ...FOLDER_PATHS.flatMap(path => [write('PATCH', path, changeFolder), write('DELETE', path, removeFolder)]),
]

function shown(call: MethodCall, contact: Contact): Record<string, unknown> {
  return {
    '@odata.context': contactsContext(call, 'contacts/$entity'),
    ...presentContact(contact, wholeContact(call.prefer)),
  }
}

function create(call: MethodCall): GraphAnswer {
  const folder = requireContactFolder(call)
  return created(shown(call, addContact(call.mailbox, folder, readContactInput(call.json()))))
}

/** Changes properties of a contact, and moves it if its folder is among them. */
function change(call: MethodCall): GraphAnswer {
  const { mailbox } = call
  const contact = requireContact(call)
  requireMatch(call, etagOf(contact))
  const json = call.json()
  const { extended, ...fields } = readContactInput(json)
  const changes = {
    ...fields,
    ...(extended && { extended: new Map([...contact.extended, ...extended]) }),
  }
  const folderId = json['parentFolderId']
  if (typeof folderId === 'string') {
    const folder = requireContactFolder({ mailbox, params: { folder: folderId } })
    if (folder !== contact.folder) moveContact(mailbox, contact, folder)
  }
  if (Object.keys(changes).length > 0) changeContact(mailbox, contact, changes)
  return { ...ok(shown(call, contact)), headers: { etag: etagOf(contact) } }
}

/** Puts a contact into Deleted Items, where its lasting id still finds it, and deletes for good what is there already. */
function remove(call: MethodCall): GraphAnswer {
  const { mailbox } = call
  const contact = requireContact(call)
  requireMatch(call, etagOf(contact))
  if (contact.folder === mailbox.contacts.deleted) removeContact(mailbox, contact)
  else moveContact(mailbox, contact, mailbox.contacts.deleted)
  return noContent
}

function removeForGood(call: MethodCall): GraphAnswer {
  removeContact(call.mailbox, requireContact(call))
  return noContent
}

function putPhoto(call: MethodCall): GraphAnswer {
  const contact = requireContact(call)
  const contentType = call.headers.get('content-type') ?? ''
  if (!contentType.startsWith('image/') || call.bytes.length === 0)
    throw badRequest('The photo has to be an image.', 'ErrorInvalidImage')
  changeContact(call.mailbox, contact, { photo: { contentType, bytes: call.bytes } })
  return { status: 200 }
}

function createFolder(call: MethodCall): GraphAnswer {
  const parent = requireContactFolder(call)
  const displayName = nameIn(call)
  if ([...parent.children].some(child => child.displayName.toLowerCase() === displayName.toLowerCase()))
    throw folderExists()
  const folder = addContactFolder(call.mailbox, parent, displayName)
  return created(presentContactFolder(folder, rootOf(call.mailbox)))
}

function changeFolder(call: MethodCall): GraphAnswer {
  const folder = requireContactFolder(call)
  renameContactFolder(folder, nameIn(call))
  return ok(presentContactFolder(folder, rootOf(call.mailbox)))
}

function removeFolder(call: MethodCall): GraphAnswer {
  const folder = requireContactFolder(call)
  if (folder === call.mailbox.contacts.main)
    throw new GraphRefusal(403, 'ErrorDeleteDistinguishedFolder', 'Distinguished folders cannot be deleted.')
  removeContactFolder(folder)
  return noContent
}

function nameIn(call: MethodCall): string {
  const name = call.json()['displayName']
  if (typeof name !== 'string' || name.trim() === '' || name.length > NAME_CHARACTERS_MAX)
    throw badRequest('The display name of the folder is missing or too long.', 'ErrorInvalidRequest')
  return name.trim()
}
