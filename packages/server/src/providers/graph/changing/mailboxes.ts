import { z } from 'zod'
import type { NeededRole, NewMailbox, RenamedMailbox } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { RemoteMailbox } from '../../mail.ts'
import { type GraphApi, type GraphRequest, segment } from '../api.ts'
import { askFolders, askRoles, requestOfFolder, toMailboxes } from '../folders.ts'
import { type Folder, folderSchema, foldersSchema, ignoredSchema } from '../resources.ts'
import type { Effect } from './effect.ts'
import { unlessGone } from './find.ts'

/** Names by which Graph knows the folders of roles. */
const WELL_KNOWN: Readonly<Record<NeededRole, string>> = {
  trash: 'deleteditems',
  sent: 'sentitems',
  drafts: 'drafts',
}
const ROOT = 'msgfolderroot'
/** Characters that a name may have (PidTagDisplayName of a folder). */
const NAME_LENGTH_MAX = 255
/** Pages of folders among which one is looked for. */
const PAGES_MAX = 100

/** `ChangingProvider.createMailbox` on Graph. */
export async function createMailbox(
  api: GraphApi,
  effect: Effect,
  { parentKey, name, mayExist }: NewMailbox,
): Promise<RemoteMailbox> {
  requireName(name)
  if (parentKey !== null) await api.ask(requestOfFolder(parentKey))
  const path = parentKey === null ? 'mailFolders' : childrenOf(parentKey)
  const before = mayExist ? await findChild(api, path, name) : null
  const { id } = before ?? (await effect.ask(creating(path, name))).value
  return requireListed(await listMailboxes(api), id)
}

const childrenOf = (key: string) => `mailFolders/${segment(key)}/childFolders`

function requireName(name: string): void {
  if (name.length > NAME_LENGTH_MAX)
    throw new ProviderFailure('rejected', `Exchange takes names of at most ${NAME_LENGTH_MAX} characters.`)
}

function creating(path: string, displayName: string): GraphRequest<{ id: string }> {
  return {
    method: 'POST',
    path,
    json: { displayName },
    schema: folderSchema.pick({ id: true }),
    accepts: [201],
  }
}

async function findChild(api: GraphApi, path: string, name: string): Promise<Folder | null> {
  let page = (
    await api.ask({
      path,
      query: { $top: 250 },
      schema: foldersSchema,
      accepts: [200],
    })
  ).value
  for (let pages = 1; ; pages += 1) {
    const found = page.value.find(folder => folder.displayName === name)
    const next = page['@odata.nextLink']
    if (found || next === undefined || pages >= PAGES_MAX) return found ?? null
    page = await api.follow(next, foldersSchema)
  }
}

/** `ChangingProvider.requireMailbox` on Graph, where these folders are always there. */
export async function requireMailboxOf(
  api: GraphApi,
  role: NeededRole,
): Promise<{ mailbox: RemoteMailbox; isNew: boolean }> {
  const { value } = await api.ask(requestOfFolder(WELL_KNOWN[role]))
  return { mailbox: requireListed(await listMailboxes(api), value.id), isNew: false }
}

/** `ChangingProvider.renameMailbox` on Graph, where ids of folders stay. */
export async function renameMailbox(
  api: GraphApi,
  effect: Effect,
  key: string,
  to: { name?: string; parentKey?: string | null },
): Promise<RenamedMailbox[]> {
  if (to.name !== undefined) requireName(to.name)
  const before = requireListed(await listMailboxes(api), key)
  const isMoved = to.parentKey !== undefined && to.parentKey !== before.parentKey
  const isRenamed = to.name !== undefined && to.name !== before.name
  if (!isMoved && !isRenamed) return []
  if (isMoved) {
    if (typeof to.parentKey === 'string') await api.ask(requestOfFolder(to.parentKey))
    await effect.ask({
      method: 'POST',
      path: `mailFolders/${segment(key)}/move`,
      json: { destinationId: to.parentKey ?? ROOT },
      schema: ignoredSchema,
      accepts: [200, 201],
    })
  }
  if (isRenamed)
    await effect.ask({
      method: 'PATCH',
      path: `mailFolders/${segment(key)}`,
      json: { displayName: to.name },
      schema: ignoredSchema,
      accepts: [200],
    })
  return treeOf(await listMailboxes(api), key).map(mailbox => ({ formerKey: mailbox.key, mailbox }))
}

/** The mailbox and those below it, parents before children. */
function treeOf(mailboxes: readonly RemoteMailbox[], key: string): RemoteMailbox[] {
  const inside = new Set([key])
  return mailboxes.filter(mailbox => {
    if (mailbox.key === key) return true
    if (mailbox.parentKey === null || !inside.has(mailbox.parentKey)) return false
    inside.add(mailbox.key)
    return true
  })
}

const childSchema = z.object({ value: z.array(folderSchema.pick({ id: true })) })

/**
 * `ChangingProvider.deleteMailbox` on Graph. A folder that is deleted goes to the deleted items first, and is removed by
 * deleting it there.
 */
export async function deleteMailbox(api: GraphApi, effect: Effect, key: string): Promise<RenamedMailbox[]> {
  const { value } = await api.ask({
    path: childrenOf(key),
    query: { $select: 'id', $top: 1 },
    schema: childSchema,
    accepts: [200],
  })
  if (value.value.length > 0)
    throw new ProviderFailure('rejected', 'The folder has folders below it. Delete these first.')
  const deleting = { method: 'DELETE', path: `mailFolders/${segment(key)}` } as const
  await effect.ask({ ...deleting, schema: ignoredSchema, accepts: [204] })
  await unlessGone(effect.ask({ ...deleting, schema: ignoredSchema, accepts: [204] }))
  return []
}

async function listMailboxes(api: GraphApi): Promise<RemoteMailbox[]> {
  const roles = await askRoles(api, {})
  return toMailboxes(await askFolders(api, {}), roles, () => null).mailboxes
}

function requireListed(mailboxes: readonly RemoteMailbox[], key: string): RemoteMailbox {
  const found = mailboxes.find(mailbox => mailbox.key === key)
  if (!found) throw new ProviderFailure('not_found', 'Exchange no longer has the folder.')
  return found
}
