import type { NeededRole, NewMailbox, RenamedMailbox } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { RemoteMailbox } from '../../mail.ts'
import { type GmailApi, segment } from '../api.ts'
import { toMailboxes } from '../labels.ts'
import { emptySchema, labelSchema } from '../resources.ts'
import { UNITS } from '../units.ts'
import { type AccountLabels, readLabels } from './account-labels.ts'
import type { Effect } from './effect.ts'

/** Characters of the whole name of a label, as the API accepts them. */
const NAME_LENGTH_MAX = 225

/** `ChangingProvider.createMailbox` on Gmail. */
export async function createMailbox(
  api: GmailApi,
  effect: Effect,
  { parentKey, name, mayExist }: NewMailbox,
): Promise<RemoteMailbox> {
  const before = await readLabels(api)
  const path = pathBelow(before, parentKey, name)
  const taken = findByName(before, path)
  if (taken && !mayExist) throw nameTaken()
  const { id } = taken ?? (await effect.ask(creating(path)))
  return requireMailbox(await listMailboxes(api), id)
}

function creating(name: string) {
  const json = { name, labelListVisibility: 'labelShow', messageListVisibility: 'show' }
  return { method: 'POST', path: 'labels', json, units: UNITS.labelsWrite, schema: labelSchema } as const
}

/** `ChangingProvider.requireMailbox` on Gmail, where these labels are always there. */
export async function requireMailboxOf(
  api: GmailApi,
  role: NeededRole,
): Promise<{ mailbox: RemoteMailbox; isNew: boolean }> {
  const mailbox = (await listMailboxes(api)).find(listed => listed.role === role)
  if (!mailbox) throw new ProviderFailure('unavailable', 'Gmail does not list one of its own labels.')
  return { mailbox, isNew: false }
}

/**
 * `ChangingProvider.renameMailbox` on Gmail, where each label has its whole path as its name. Labels below it come
 * first, so that an interrupted change goes on when the call is repeated.
 */
export async function renameMailbox(
  api: GmailApi,
  effect: Effect,
  key: string,
  to: { name?: string; parentKey?: string | null },
): Promise<RenamedMailbox[]> {
  const before = await readLabels(api)
  const mailboxes = mailboxesOf(before)
  const renamed = requireMailbox(mailboxes, key)
  if (renamed.role !== 'custom')
    throw new ProviderFailure('rejected', 'Gmail’s own labels cannot be renamed.')
  const parentKey = to.parentKey === undefined ? renamed.parentKey : to.parentKey
  const path = pathBelow(before, parentKey, to.name ?? renamed.name)
  const former = before.all.find(({ id }) => id === key)?.name ?? renamed.path
  if (path === former) return []
  // From `a` to `a/b`, labels below `a/b` were moved by an interrupted try.
  const isMoved = (name: string) => path.startsWith(`${former}/`) && name.startsWith(`${path}/`)
  const below = before.all.filter(({ name }) => name.startsWith(`${former}/`) && !isMoved(name))
  if (parentKey === key || below.some(({ id }) => id === parentKey))
    throw new ProviderFailure('rejected', 'A label cannot be moved below itself.')
  const moves = [
    ...below.map(({ id, name }) => ({ id, name: path + name.slice(former.length) })),
    { id: key, name: path },
  ]
  const moving = new Set(moves.map(({ id }) => id))
  for (const { name } of moves) {
    const taken = findByName(before, name)
    if (taken && !moving.has(taken.id)) throw nameTaken()
    if (name.length > NAME_LENGTH_MAX) throw new ProviderFailure('rejected', 'The name is too long.')
  }
  for (const { id, name } of moves) {
    await effect.ask({
      method: 'PATCH',
      path: `labels/${segment(id)}`,
      json: { name },
      units: UNITS.labelsWrite,
      schema: labelSchema,
    })
  }
  const after = changedSince(mailboxes, await listMailboxes(api))
  return after.toSorted((a, b) => Number(b.formerKey === key) - Number(a.formerKey === key))
}

/**
 * `ChangingProvider.deleteMailbox` on Gmail: its messages stay, and so do the labels below it.
 * @returns these, which have another name and parent now
 */
export async function deleteMailbox(api: GmailApi, effect: Effect, key: string): Promise<RenamedMailbox[]> {
  const mailboxes = await listMailboxes(api)
  if (requireMailbox(mailboxes, key).role !== 'custom')
    throw new ProviderFailure('rejected', 'Gmail’s own labels cannot be deleted.')
  await effect.ask({
    method: 'DELETE',
    path: `labels/${segment(key)}`,
    units: UNITS.labelsWrite,
    schema: emptySchema,
  })
  return changedSince(mailboxes, await listMailboxes(api))
}

async function listMailboxes(api: GmailApi): Promise<RemoteMailbox[]> {
  return mailboxesOf(await readLabels(api))
}

function mailboxesOf({ all }: AccountLabels): RemoteMailbox[] {
  return toMailboxes(all, {}, () => null).mailboxes
}

function requireMailbox(mailboxes: readonly RemoteMailbox[], key: string): RemoteMailbox {
  const found = mailboxes.find(mailbox => mailbox.key === key)
  if (!found) throw new ProviderFailure('not_found', 'Gmail no longer has the label.')
  return found
}

/** The mailboxes that have another path or parent than before; parents come before children. */
function changedSince(before: readonly RemoteMailbox[], after: readonly RemoteMailbox[]): RenamedMailbox[] {
  const former = new Map(before.map(mailbox => [mailbox.key, mailbox]))
  return after.flatMap(mailbox => {
    const was = former.get(mailbox.key)
    const isSame = was?.path === mailbox.path && was.parentKey === mailbox.parentKey
    return !was || isSame ? [] : [{ formerKey: mailbox.key, mailbox }]
  })
}

/** The whole name of a label below another one, or at the top level. */
function pathBelow(labels: AccountLabels, parentKey: string | null, name: string): string {
  const parent = parentKey === null ? null : labels.all.find(({ id }) => id === parentKey)
  if (parent === undefined) throw new ProviderFailure('not_found', 'Gmail no longer has the label above it.')
  if (parent?.type === 'system') throw new ProviderFailure('rejected', 'Gmail keeps no labels below its own.')
  const path = parent === null ? name : `${parent.name}/${name}`
  if (path.length > NAME_LENGTH_MAX) throw new ProviderFailure('rejected', 'The name is too long.')
  return path
}

/** Gmail compares names without case. */
function findByName({ all }: AccountLabels, name: string) {
  return all.find(label => label.name.toLowerCase() === name.toLowerCase())
}

function nameTaken(): ProviderFailure {
  return new ProviderFailure('conflict', 'There is a label of that name already.')
}
