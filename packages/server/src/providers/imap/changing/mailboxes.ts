import { setTimeout as sleep } from 'node:timers/promises'
import type { NeededRole, NewMailbox, RenamedMailbox } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { RemoteMailbox } from '../../mail.ts'
import { type TrackedMailboxes, rememberChange } from '../follow.ts'
import { accepts, askNames, askState, askSubscribed, findStatus, type Listing } from '../list.ts'
import { type ArrangedMailbox, arrangeMailboxes, NAME_BYTES_MAX, type Namespaces } from '../mailboxes.ts'
import { decodeMailboxName, encodeMailboxName } from '../names.ts'
import type { Effect } from './effect.ts'

/** Mailboxes as they are now, and the names that new ones get. */
interface Tree {
  tracked: TrackedMailboxes
  namespaces: Namespaces
  listing: Listing
  mailboxes: ArrangedMailbox[]
}

/** The pause before a list that seems to be late is requested again. */
const LATE_MS = 1_000

const NAME_BY_ROLE: Readonly<Record<NeededRole, string>> = { trash: 'Trash', sent: 'Sent', drafts: 'Drafts' }

/** Lists the mailboxes afresh. Leaves the open one: it may be the one that is to be changed. */
async function readTree(tracked: TrackedMailboxes, namespaces: Namespaces): Promise<Tree> {
  rememberChange(tracked)
  await tracked.connection.leave()
  const listing = await askNames(tracked.connection)
  return arrange(tracked, namespaces, listing)
}

function arrange(tracked: TrackedMailboxes, namespaces: Namespaces, listing: Listing): Tree {
  const { mailboxes } = arrangeMailboxes(listing.mailboxes, namespaces, wireName =>
    findStatus(listing, wireName),
  )
  for (const { mailbox, wireName } of mailboxes) tracked.wireNames.set(mailbox.key, wireName)
  return { tracked, namespaces, listing, mailboxes }
}

/** `ChangingProvider.createMailbox` on IMAP. */
export async function createMailbox(
  tracked: TrackedMailboxes,
  namespaces: Namespaces,
  effect: Effect,
  { parentKey, name, mayExist }: NewMailbox,
): Promise<RemoteMailbox> {
  const tree = await readTree(tracked, namespaces)
  const created = await create(tree, effect, { parentKey, name, mayExist, use: null })
  return describe(tree, created)
}

/** `ChangingProvider.requireMailbox` on IMAP. */
export async function requireMailbox(
  tracked: TrackedMailboxes,
  namespaces: Namespaces,
  effect: Effect,
  role: NeededRole,
): Promise<{ mailbox: RemoteMailbox; isNew: boolean }> {
  const tree = await readTree(tracked, namespaces)
  const found = tree.mailboxes.find(({ mailbox }) => mailbox.role === role)
  if (found) return { mailbox: await describe(tree, found.wireName), isNew: false }
  const name = NAME_BY_ROLE[role]
  const creation = { parentKey: null, name, mayExist: true, use: `\\${name}` }
  const created = await create(tree, effect, creation)
  return { mailbox: await describe(tree, created), isNew: true }
}

/** `ChangingProvider.renameMailbox` on IMAP. */
export async function renameMailbox(
  tracked: TrackedMailboxes,
  namespaces: Namespaces,
  effect: Effect,
  key: string,
  to: { name?: string; parentKey?: string | null },
): Promise<RenamedMailbox[]> {
  const { connection } = tracked
  const tree = await readTree(tracked, namespaces)
  const renamed = findByKey(tree, key)
  // RFC 9051 section 6.3.6: renaming INBOX moves its messages, and INBOX stays.
  if (key === 'INBOX') throw new ProviderFailure('rejected', 'The inbox cannot be renamed.')
  const parentKey = to.parentKey === undefined ? renamed.mailbox.parentKey : to.parentKey
  const from = renamed.wireName
  const target =
    to.name === undefined
      ? prefixBelow(tree, parentKey) + lastLevel(renamed)
      : nameBelow(tree, parentKey, to.name)
  if (target === from) return []
  const below = `${from}${renamed.separator ?? ''}`
  if (renamed.separator !== null && target.startsWith(below))
    throw new ProviderFailure('rejected', 'A mailbox cannot be moved below itself.')
  if (findByName(tree, target))
    throw new ProviderFailure('conflict', 'There is a mailbox of that name already.')
  const moved = [
    renamed,
    ...tree.mailboxes.filter(({ wireName }) => renamed.separator !== null && wireName.startsWith(below)),
  ]
  const subscribed = await askSubscribed(connection)
  await effect.run({ name: 'RENAME', arguments: [from, target] })
  for (const { wireName } of moved) {
    if (!subscribed.has(wireName)) continue
    const renamedTo = target + wireName.slice(from.length)
    await accepts(connection, () => effect.run({ name: 'SUBSCRIBE', arguments: [renamedTo] }))
    await accepts(connection, () => effect.run({ name: 'UNSUBSCRIBE', arguments: [wireName] }))
  }
  for (const { mailbox } of moved) tracked.wireNames.delete(mailbox.key)
  const isShown = (listed: Tree) => findRenamed(tree, listed, target) !== undefined
  const after = await readTreeUntil(tracked, namespaces, isShown)
  const found = findRenamed(tree, after, target)
  if (!found && (await isThere(after, from)))
    throw new ProviderFailure(
      'unavailable',
      'The server claims to have renamed the mailbox, but has it under its former name.',
    )
  // Mailboxes that are not listed yet are found by the next sync.
  return moved.flatMap(({ mailbox, wireName }) => {
    const listed = found && findByName(after, found.wireName + wireName.slice(from.length))
    return listed ? [{ formerKey: mailbox.key, mailbox: listed.mailbox }] : []
  })
}

/** A mailbox by the name that it was given. A server may spell it in its own way. */
function findRenamed(before: Tree, after: Tree, wireName: string): ArrangedMailbox | undefined {
  const isAlike = (mailbox: ArrangedMailbox) => fold(mailbox.wireName) === fold(wireName)
  return (
    findByName(after, wireName) ??
    after.mailboxes.find(mailbox => isAlike(mailbox) && !findByName(before, mailbox.wireName))
  )
}

/** Equal for names that a server may take for the same. */
function fold(wireName: string): string {
  return decodeMailboxName(wireName).normalize('NFC').replaceAll(/\s/g, '').toLowerCase()
}

/** Lists the mailboxes, and once more after a pause if a change does not show: some servers list late. */
async function readTreeUntil(
  tracked: TrackedMailboxes,
  namespaces: Namespaces,
  isShown: (tree: Tree) => boolean,
): Promise<Tree> {
  const tree = await readTree(tracked, namespaces)
  if (isShown(tree)) return tree
  await sleep(LATE_MS)
  return readTree(tracked, namespaces)
}

const isListed = (tree: Tree, wireName: string) => findByName(tree, wireName)?.isSelectable === true

/** Whether the server not only lists a mailbox, but has it. */
async function isThere(tree: Tree, wireName: string): Promise<boolean> {
  const { connection } = tree.tracked
  const items = [{ type: 'ATOM', value: 'MESSAGES' }]
  const ask = () => connection.run({ name: 'STATUS', arguments: [wireName, items] })
  return isListed(tree, wireName) && accepts(connection, ask)
}

/** `ChangingProvider.deleteMailbox` on IMAP. */
export async function deleteMailbox(
  tracked: TrackedMailboxes,
  namespaces: Namespaces,
  effect: Effect,
  key: string,
): Promise<RenamedMailbox[]> {
  const tree = await readTree(tracked, namespaces)
  const { wireName } = findByKey(tree, key)
  if (key === 'INBOX') throw new ProviderFailure('rejected', 'The inbox cannot be deleted.')
  if (tree.mailboxes.some(({ mailbox }) => mailbox.parentKey === key))
    throw new ProviderFailure('rejected', 'The mailbox has others below it. Delete or move these first.')
  await effect.run({ name: 'DELETE', arguments: [wireName] })
  const after = await readTreeUntil(tracked, namespaces, listed => !isListed(listed, wireName))
  if (await isThere(after, wireName)) throw new ProviderFailure('rejected', 'The server keeps the mailbox.')
  tracked.wireNames.delete(key)
  await accepts(tracked.connection, () => effect.run({ name: 'UNSUBSCRIBE', arguments: [wireName] }))
  return []
}

/** The name on the wire for a mailbox below another one, or at the top level. */
function nameBelow(tree: Tree, parentKey: string | null, name: string): string {
  const separator = separatorOf(tree, parentKey)
  if (separator !== null && name.includes(separator))
    throw new ProviderFailure('rejected', `A name on this server cannot contain "${separator}".`)
  const wireName = prefixBelow(tree, parentKey) + encodeMailboxName(name)
  if (wireName.length > NAME_BYTES_MAX) throw new ProviderFailure('rejected', 'The name is too long.')
  if (parentKey === null && name.toUpperCase() === 'INBOX')
    throw new ProviderFailure('conflict', 'There is only one inbox.')
  return wireName
}

function prefixBelow(tree: Tree, parentKey: string | null): string {
  if (parentKey === null) return encodeMailboxName(tree.namespaces.personalPrefix)
  const separator = separatorOf(tree, parentKey)
  if (separator === null) throw new ProviderFailure('rejected', 'The server keeps no mailboxes below others.')
  return findByKey(tree, parentKey).wireName + separator
}

function separatorOf(tree: Tree, parentKey: string | null): string | null {
  return findByKey(tree, parentKey ?? 'INBOX').separator
}

function lastLevel({ wireName, separator }: ArrangedMailbox): string {
  return separator === null ? wireName : wireName.slice(wireName.lastIndexOf(separator) + 1)
}

function findByKey({ mailboxes }: Tree, key: string): ArrangedMailbox {
  const found = mailboxes.find(({ mailbox }) => mailbox.key === key)
  if (!found) throw new ProviderFailure('not_found', 'The server no longer has the mailbox.')
  return found
}

function findByName({ mailboxes }: Tree, wireName: string): ArrangedMailbox | undefined {
  return mailboxes.find(mailbox => mailbox.wireName === wireName)
}

interface Creation {
  parentKey: string | null
  name: string
  mayExist: boolean
  /** A special use (RFC 6154); null: none. */
  use: string | null
}

/** Creates a mailbox and subscribes to it. @returns its name on the wire */
async function create(tree: Tree, effect: Effect, creation: Creation): Promise<string> {
  const { connection } = tree.tracked
  const { parentKey, name } = creation
  const wireName = nameBelow(tree, parentKey, name)
  const created = await createAt(tree, effect, wireName, creation).catch((error: unknown) => {
    const { separator } = findByKey(tree, 'INBOX')
    const isElsewhere = parentKey === null && tree.namespaces.personalPrefix === '' && separator !== null
    if (!isElsewhere || connection.isClosed || !isRefusal(error)) throw error
    // Some servers keep everything below INBOX without announcing it.
    return createAt(tree, effect, `INBOX${separator}${encodeMailboxName(name)}`, creation)
  })
  await accepts(connection, () => effect.run({ name: 'SUBSCRIBE', arguments: [created] }))
  return created
}

function isRefusal(error: unknown): boolean {
  return error instanceof ProviderFailure && ['rejected', 'forbidden', 'not_found'].includes(error.kind)
}

async function createAt(
  tree: Tree,
  effect: Effect,
  wireName: string,
  { mayExist, use }: Creation,
): Promise<string> {
  const { connection } = tree.tracked
  const taken = findByName(tree, wireName)
  if (taken && !mayExist) throw new ProviderFailure('conflict', 'There is a mailbox of that name already.')
  if (taken?.isSelectable) return wireName
  // RFC 6154 section 3. A server may refuse the use, but not the mailbox.
  const uses = [{ type: 'ATOM', value: 'USE' }, [{ type: 'ATOM', value: use ?? '' }]]
  const withUse = () => effect.run({ name: 'CREATE', arguments: [wireName, uses] })
  const isCreated =
    use !== null && connection.has('CREATE-SPECIAL-USE') && (await accepts(connection, withUse))
  if (!isCreated) await effect.run({ name: 'CREATE', arguments: [wireName] })
  return wireName
}

/** A mailbox as a fresh listing has it, with its state. */
async function describe({ tracked, namespaces }: Tree, wireName: string): Promise<RemoteMailbox> {
  const { listing } = await readTree(tracked, namespaces)
  await askState(tracked.connection, listing, wireName, tracked.mailboxIds)
  const found = findByName(arrange(tracked, namespaces, listing), wireName)
  if (!found) throw new ProviderFailure('unavailable', 'The server has the mailbox, but does not list it.')
  return found.mailbox
}
