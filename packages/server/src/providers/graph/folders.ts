import { cleanLine } from '../../kit/mime/text.ts'
import type { MailboxRole } from '../mailbox-role.ts'
import { ProviderFailure } from '../failure.ts'
import type { RemoteMailbox } from '../mail.ts'
import { type AskOptions, BATCH_PARTS_MAX, type GraphApi, type GraphRequest, segment } from './api.ts'
import type { GraphConnection } from './graph-connection.ts'
import { type Folder, folderSchema, foldersSchema } from './resources.ts'

/** Names under which Graph knows these folders in every language (learn.microsoft.com/graph/api/resources/mailfolder). */
const WELL_KNOWN: ReadonlyArray<readonly [name: string, role: MailboxRole]> = [
  ['inbox', 'inbox'],
  ['sentitems', 'sent'],
  ['drafts', 'drafts'],
  ['deleteditems', 'trash'],
  ['junkemail', 'junk'],
  ['archive', 'archive'],
]

/** Folders beyond that are left out. */
const FOLDERS_MAX = 10_000
const FOLDERS_PER_PAGE = 250
const PAGES_MAX = 100
const DEPTH_MAX = 300
const NAME_LENGTH_MAX = 1_000
const PATH_LENGTH_MAX = 10_000
const HIDDEN_MAX = 1_000
const FIELDS = 'id,displayName,parentFolderId,childFolderCount,totalItemCount,unreadItemCount,isHidden'

/** Roles by the id of their folder. Throws `ProviderFailure`. */
export async function askRoles(
  api: GraphApi,
  options: AskOptions,
): Promise<ReadonlyMap<string, MailboxRole>> {
  const outcomes = await api.askAll(
    WELL_KNOWN.map(([name]) => requestOfFolder(name)),
    options,
  )
  const roles = new Map<string, MailboxRole>()
  for (const [index, { value, failure }] of outcomes.entries()) {
    // A mailbox need not have each of them.
    if (failure && failure.kind !== 'not_found') throw failure
    if (value) roles.set(value.id, WELL_KNOWN[index]![1])
  }
  return roles
}

export function requestOfFolder(id: string): GraphRequest<Folder> {
  return {
    path: `mailFolders/${segment(id)}`,
    query: { $select: FIELDS },
    schema: folderSchema,
    accepts: [200],
  }
}

/** All folders of the user, parents before children: one call, and one more for each folder that has children. */
export async function askFolders(api: GraphApi, options: AskOptions): Promise<Folder[]> {
  const folders: Folder[] = []
  const known = new Set<string>()
  let level = await askChildren(api, [null], options)
  for (let depth = 0; level.length > 0 && folders.length <= FOLDERS_MAX && depth < DEPTH_MAX; depth += 1) {
    const unknown = level.filter(folder => isOfUser(folder) && !known.has(folder.id))
    // A folder that is added while a list of several pages is read makes the next page name one again.
    const fresh = [...new Map(unknown.map(folder => [folder.id, folder])).values()]
    for (const folder of fresh) known.add(folder.id)
    folders.push(...fresh)
    const parents = fresh.filter(({ childFolderCount }) => childFolderCount > 0).map(({ id }) => id)
    level = await askChildren(api, parents, options)
  }
  return folders
}

function isOfUser(folder: Folder): boolean {
  return folder.isHidden !== true && !/mailSearchFolder$/i.test(folder['@odata.type'] ?? '')
}

/** @param parents their ids; null for the top */
async function askChildren(
  api: GraphApi,
  parents: ReadonlyArray<string | null>,
  options: AskOptions,
): Promise<Folder[]> {
  const found: Folder[] = []
  for (let at = 0; at < parents.length && found.length <= FOLDERS_MAX; at += BATCH_PARTS_MAX) {
    const outcomes = await api.askAll(parents.slice(at, at + BATCH_PARTS_MAX).map(requestOfChildren), options)
    for (const { value, failure } of outcomes) {
      // It was deleted since it was listed.
      if (failure?.kind === 'not_found') continue
      if (failure) throw failure
      found.push(...value.value)
      let link = value['@odata.nextLink']
      const hasRoom = () => found.length <= FOLDERS_MAX
      for (let pages = 1; link !== undefined && hasRoom() && pages < PAGES_MAX; pages += 1) {
        const page = await api.follow(link, foldersSchema, options)
        found.push(...page.value)
        link = page['@odata.nextLink']
      }
    }
  }
  return found
}

function requestOfChildren(parent: string | null): GraphRequest<{
  value: Folder[]
  '@odata.nextLink'?: string | undefined
}> {
  return {
    path: parent === null ? 'mailFolders' : `mailFolders/${segment(parent)}/childFolders`,
    query: { $select: FIELDS, $top: FOLDERS_PER_PAGE },
    schema: foldersSchema,
    accepts: [200],
  }
}

/** The mailboxes that folders stand for. Those beyond a limit, or with a name that is too long, are left out. */
export function toMailboxes(
  folders: readonly Folder[],
  roles: ReadonlyMap<string, MailboxRole>,
  stateOf: (id: string) => RemoteMailbox['state'],
): { mailboxes: RemoteMailbox[]; leftOut: number } {
  const paths = new Map<string, string>()
  const mailboxes: RemoteMailbox[] = []
  for (const folder of folders) {
    const { id, parentFolderId } = folder
    const name = cleanLine(folder.displayName, NAME_LENGTH_MAX) || id
    const parentPath = parentFolderId ? paths.get(parentFolderId) : undefined
    const path = parentPath === undefined ? name : `${parentPath}/${name}`
    if (path.length > PATH_LENGTH_MAX || mailboxes.length >= FOLDERS_MAX) continue
    paths.set(id, path)
    mailboxes.push({
      key: id,
      providerId: id,
      name,
      path,
      parentKey: parentPath === undefined ? null : parentFolderId!,
      role: roles.get(id) ?? 'custom',
      kind: 'folder',
      totalCount: folder.totalItemCount ?? null,
      unreadCount: folder.unreadItemCount ?? null,
      source: id,
      state: stateOf(id),
    })
  }
  return { mailboxes, leftOut: folders.length - mailboxes.length }
}

/** A folder is believed to be gone if it was not found twice, and so much time lies between: a new one may come late. */
const UNFOUND_MS_MIN = 10_000

/**
 * Whether a message in a folder is one of the user's. `hidden`: the folder is none of the user's, such as the one of
 * messages that can still be recovered, so the message is as good as deleted. `unknown`: the folder was not found, although
 * the message was.
 */
export type FolderSight = 'visible' | 'hidden' | 'unknown'

/** Asks for a folder that the last list lacks. A folder that was made since then is one of the user's. */
export async function sightOf(
  { api, seen }: GraphConnection,
  folderId: string,
  options: AskOptions,
): Promise<FolderSight> {
  if (!seen.hasLooked || seen.folders.has(folderId)) return 'visible'
  if (seen.hidden.has(folderId)) return 'hidden'
  let id = folderId
  for (let depth = 0; depth < DEPTH_MAX && !seen.folders.has(id); depth += 1) {
    let folder
    try {
      folder = (await api.ask(requestOfFolder(id), options)).value
    } catch (error) {
      if (!(error instanceof ProviderFailure) || error.kind !== 'not_found') throw error
      return sightOfUnfound(seen.unfound, folderId, api.now())
    }
    seen.unfound.delete(folderId)
    if (!isOfUser(folder)) return hide(seen.hidden, folderId)
    const parent = folder.parentFolderId
    if (!parent || seen.roots.has(parent)) return 'visible'
    id = parent
  }
  return seen.folders.has(id) ? 'visible' : 'hidden'
}

/** As `sightOf`, for messages that are asked for again if they are as good as deleted. */
export async function isHidden(
  connection: GraphConnection,
  folderId: string,
  options: AskOptions,
): Promise<boolean> {
  return (await sightOf(connection, folderId, options)) !== 'visible'
}

function sightOfUnfound(unfound: Map<string, number>, folderId: string, now: number): FolderSight {
  const since = unfound.get(folderId)
  if (since !== undefined && now - since >= UNFOUND_MS_MIN) return 'hidden'
  if (since === undefined || since > now) {
    if (unfound.size >= HIDDEN_MAX) unfound.clear()
    unfound.set(folderId, now)
  }
  return 'unknown'
}

function hide(hidden: Set<string>, folderId: string): 'hidden' {
  if (hidden.size >= HIDDEN_MAX) hidden.clear()
  hidden.add(folderId)
  return 'hidden'
}
