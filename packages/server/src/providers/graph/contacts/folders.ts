import { z } from 'zod'
import { cleanLine } from '../../../kit/mime/text.ts'
import type { RemoteContactFolder } from '../../contacts.ts'
import { type AskOptions, BATCH_PARTS_MAX, type GraphApi, type GraphRequest, segment } from '../api.ts'
import { id, pageSchema } from '../resources.ts'
import type { ContactsConnection } from './contacts-connection.ts'

/** The name by which Graph finds the default folder, which is in no list. */
const MAIN = 'contacts'
/** Folders beyond that are left out. */
const FOLDERS_MAX = 500
const FOLDERS_PER_PAGE = 250
const PAGES_MAX = 10
const DEPTH_MAX = 50
const NAME_LENGTH_MAX = 256
const FIELDS = 'id,displayName'

const folderSchema = z.object({ id, displayName: z.string().max(10_000).catch('') })
type Folder = z.infer<typeof folderSchema>
const foldersSchema = pageSchema(folderSchema)
type FoldersPage = z.infer<typeof foldersSchema>

export function pathOfFolder(folderId: string): string {
  return `contactFolders/${segment(folderId)}`
}

/** A question that Graph answers if it answers anything about the contacts of the mailbox. */
export const PROBE: GraphRequest<Folder> = {
  path: pathOfFolder(MAIN),
  query: { $select: FIELDS },
  schema: folderSchema,
  accepts: [200],
}

/**
 * All folders of contacts, the default one first, and parents before children: two calls, and one more for each folder.
 * Graph does not say which of them have children.
 */
export async function listContactFolders(
  connection: ContactsConnection,
  options: AskOptions,
): Promise<RemoteContactFolder[]> {
  const { api } = connection
  const main = (await api.ask(PROBE, options)).value
  const folders = new Map([[main.id, main]])
  let level = [main, ...(await askLists(api, [requestOfList('contactFolders')], options))]
  for (let depth = 0; level.length > 0 && depth < DEPTH_MAX; depth += 1) {
    const fresh = level.filter(folder => folder === main || !folders.has(folder.id))
    for (const folder of fresh.slice(0, FOLDERS_MAX - folders.size)) folders.set(folder.id, folder)
    const parents = [...new Map(fresh.map(folder => [folder.id, folder])).keys()]
    if (folders.size >= FOLDERS_MAX) break
    const requests = parents.map(parent => requestOfList(`${pathOfFolder(parent)}/childFolders`))
    level = await askLists(api, requests, options)
  }
  connection.folderIds = new Set(folders.keys())
  connection.otherFolderIds.clear()
  return [...folders.values()].map(folder => ({
    key: folder.id,
    name: cleanLine(folder.displayName, NAME_LENGTH_MAX) || 'Contacts',
    isDefault: folder === main,
    isReadOnly: false,
  }))
}

function requestOfList(path: string): GraphRequest<FoldersPage> {
  return {
    path,
    query: { $select: FIELDS, $top: FOLDERS_PER_PAGE },
    schema: foldersSchema,
    accepts: [200],
  }
}

async function askLists(
  api: GraphApi,
  requests: ReadonlyArray<GraphRequest<FoldersPage>>,
  options: AskOptions,
): Promise<Folder[]> {
  const found: Folder[] = []
  for (let at = 0; at < requests.length; at += BATCH_PARTS_MAX) {
    const outcomes = await api.askAll(requests.slice(at, at + BATCH_PARTS_MAX), options)
    for (const { value, failure } of outcomes) {
      // It was deleted since it was listed.
      if (failure?.kind === 'not_found') continue
      if (failure) throw failure
      found.push(...value.value)
      let link = value['@odata.nextLink']
      for (let pages = 1; link !== undefined && pages < PAGES_MAX; pages += 1) {
        const page = await api.follow(link, foldersSchema, options)
        found.push(...page.value)
        link = page['@odata.nextLink']
      }
    }
  }
  return found
}

/**
 * Whether a folder is one of contacts. A deleted contact is found by its id as well, in Deleted Items or in a folder that
 * was deleted with it.
 */
export async function isContactFolder(
  connection: ContactsConnection,
  folderId: string,
  options: AskOptions,
): Promise<boolean> {
  if (connection.folderIds?.has(folderId)) return true
  if (connection.otherFolderIds.has(folderId)) return false
  // It may have been made since they were listed.
  await listContactFolders(connection, options)
  if (connection.folderIds?.has(folderId)) return true
  connection.otherFolderIds.add(folderId)
  return false
}
