import type { FollowFolder, ListedContact } from '../../contacts.ts'
import type { AskOptions } from '../api.ts'
import { isUnreadable } from '../unreadable.ts'
import type { DeltaPage } from '../delta.ts'
import { LinkExpired } from '../failure.ts'
import { pathOfFolder } from './folders.ts'
import { askMark } from '../mark.ts'
import { isWhole } from './contact.ts'
import { type GraphItem, versionOf } from '../items.ts'
import type { ContactsConnection } from './contacts-connection.ts'
import { type FolderCursor, freshCursor } from './cursor.ts'
import { beginContacts, continueContacts, listContacts } from './pages.ts'
import { type ReadContacts, readContacts, sortOut } from './reading.ts'
import { READ_AT_ONCE, type Steps, stepsOf } from './steps.ts'

/** If a walk expires more often than this before its end, it is given up for now. */
const RESTARTS_MAX = 2
/** Pages of one walk. */
const PAGES_MAX = 10_000
/** If more contacts are wanted, whole pages are read, which takes fewer calls. */
const READ_BY_ID_MAX = 100

type Known = ReadonlyMap<string, string>

/**
 * Compares a whole folder with the index. Where Graph has a delta, its first round brings all contacts, and the link to what
 * happens from its beginning on; otherwise all are listed. Contacts that a list lacks are asked for by their ids before they
 * are gone.
 */
export async function* compareFolder(
  connection: ContactsConnection,
  folderId: string,
  { from, known, options }: Pick<FollowFolder, 'known'> & { from: FolderCursor | null; options: AskOptions },
): Steps<void> {
  const held = await known()
  const compare = connection.api.cloud.has.contactDelta ? walkFolder : listFolder
  const { seen, doubted, cursor } = yield* compare(connection, folderId, { from, held, options })
  const all = new Set([...held.keys(), ...doubted])
  const lost = [...all].filter(key => !seen.has(key))
  yield* bringByIds(connection, lost, all, options)
  yield { type: 'end', cursor }
}

interface Comparing {
  from: FolderCursor | null
  held: Known
  options: AskOptions
}

/** The contacts that a folder has, as far as was seen, and the cursor behind the comparison. */
interface Compared {
  seen: ReadonlySet<string>
  /** Contacts that were brought, and may have gone before the walk began again. */
  doubted: ReadonlySet<string>
  cursor: FolderCursor
}

/** Walks through a folder by the first round of its delta. A walk that was broken off goes on at its link. */
async function* walkFolder(
  connection: ContactsConnection,
  folderId: string,
  { from, held, options }: Comparing,
): Steps<Compared> {
  const seen = new Set<string>()
  const doubted = new Set<string>()
  let cursor: FolderCursor = {
    ...freshCursor(connection.api.now()),
    ...(from?.walk && { walk: from.walk, isOfIds: from.isOfIds }),
  }
  let isFromStart = cursor.walk === null
  let restarts = 0
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page = await readWalk(connection, folderId, cursor, options)
    if (page === 'expired' || page === 'unreadable') {
      if (++restarts > RESTARTS_MAX)
        throw new LinkExpired('conflict', 'Microsoft Graph does not let the folder be read to its end.')
      // The link of the new walk does not report contacts that went before it began.
      for (const id of seen) doubted.add(id)
      seen.clear()
      isFromStart = true
      cursor = { ...cursor, walk: null, isOfIds: cursor.isOfIds || page === 'unreadable' }
      continue
    }
    for (const { id } of page.items) seen.add(id)
    yield* bringItems(connection, page.items, held, options)
    if (page.isLast) {
      if (!isFromStart) await addListed(connection, folderId, seen, options)
      return { seen, doubted, cursor: { ...cursor, walk: null, isOfIds: false, link: page.link } }
    }
    cursor = { ...cursor, walk: page.link }
    yield { type: 'gone', keys: [], cursor }
  }
  throw new LinkExpired('conflict', 'Microsoft Graph gives the contacts of the folder no end.')
}

async function readWalk(
  connection: ContactsConnection,
  folderId: string,
  { walk, isOfIds }: FolderCursor,
  options: AskOptions,
): Promise<DeltaPage<GraphItem> | 'expired' | 'unreadable'> {
  const ask = () =>
    walk === null
      ? beginContacts(connection, folderId, isOfIds, options)
      : continueContacts(connection, walk, options)
  try {
    // A server that fails once may only have been busy, and a walk of ids alone makes every later change cost a read.
    return await ask().catch((error: unknown) => {
      if (isOfIds || !isUnreadable(error, options)) throw error
      return ask()
    })
  } catch (error) {
    if (error instanceof LinkExpired && walk !== null) return 'expired'
    if (!isOfIds && isUnreadable(error, options)) return 'unreadable'
    throw error
  }
}

async function addListed(
  connection: ContactsConnection,
  folderId: string,
  seen: Set<string>,
  options: AskOptions,
): Promise<void> {
  for await (const items of listContacts(connection, folderId, true, options))
    for (const { id } of items) seen.add(id)
}

/** Compares a folder of a cloud without a delta. The mark is from before the list: a later change is noticed. */
async function* listFolder(
  connection: ContactsConnection,
  folderId: string,
  { held, options }: Comparing,
): Steps<Compared> {
  const now = connection.api.now()
  const mark = await askMark(connection.api, `${pathOfFolder(folderId)}/contacts`, options)
  const seen = yield* bringListed(connection, folderId, held, options)
  return { seen, doubted: new Set(), cursor: { ...freshCursor(now), mark } }
}

/** Compares a folder with the index by its list, besides what its delta reports. */
export async function* compareListed(
  connection: ContactsConnection,
  folderId: string,
  held: Known,
  options: AskOptions,
): Steps<void> {
  const seen = yield* bringListed(connection, folderId, held, options)
  const lost = [...held.keys()].filter(key => !seen.has(key))
  yield* bringByIds(connection, lost, held, options)
}

/** Lists a folder, and brings what the index lacks or has in another version. @returns the keys of the list */
async function* bringListed(
  connection: ContactsConnection,
  folderId: string,
  held: Known,
  options: AskOptions,
): Steps<Set<string>> {
  const seen = new Set<string>()
  const wanted = new Set<string>()
  for await (const items of listContacts(connection, folderId, true, options))
    for (const item of items) {
      seen.add(item.id)
      if (isNews(item, held)) wanted.add(item.id)
    }
  if (wanted.size > READ_BY_ID_MAX) yield* bringPages(connection, folderId, wanted, options)
  yield* bringByIds(connection, [...wanted], held, options)
  return seen
}

/** Brings wanted contacts by whole pages, and takes them out of the set. A page that cannot be read leaves the rest in it. */
async function* bringPages(
  connection: ContactsConnection,
  folderId: string,
  wanted: Set<string>,
  options: AskOptions,
): Steps<void> {
  try {
    for await (const items of listContacts(connection, folderId, false, options)) {
      const taken = items.filter(({ id }) => wanted.delete(id))
      yield* bringItems(connection, taken, new Map(), options)
    }
  } catch (error) {
    if (!isUnreadable(error, options)) throw error
  }
}

function isNews(item: GraphItem, held: Known): boolean {
  const version = versionOf(item)
  return version === null || held.get(item.id) !== version
}

/** Brings items of which the index has another version, or none. Items without all fields are read by their ids. */
async function* bringItems(
  connection: ContactsConnection,
  items: readonly GraphItem[],
  held: Known,
  options: AskOptions,
): Steps<void> {
  const news = items.filter(item => isNews(item, held))
  const result: ReadContacts = { contacts: [], unreadable: [], gone: [] }
  const partial: string[] = []
  for (const item of news)
    if (isWhole(item)) await sortOut(connection, item, result, options)
    else partial.push(item.id)
  yield* stepsOf(result)
  yield* bringByIds(connection, partial, held, options)
}

async function* bringByIds(
  connection: ContactsConnection,
  keys: readonly string[],
  known: Pick<Known, 'has'>,
  options: AskOptions,
): Steps<void> {
  for (let at = 0; at < keys.length; at += READ_AT_ONCE) {
    const read = await readContacts(connection, keys.slice(at, at + READ_AT_ONCE), options)
    yield* stepsOf({ ...read, gone: read.gone.filter(key => known.has(key)) })
  }
}

/** `ContactsProvider.list`: keys and versions, page by page. */
export async function* listVersions(
  connection: ContactsConnection,
  folderId: string,
  options: AskOptions,
): AsyncGenerator<readonly ListedContact[], void, void> {
  for await (const items of listContacts(connection, folderId, true, options))
    yield items.flatMap(item => {
      const version = versionOf(item)
      return version === null ? [] : [{ key: item.id, version }]
    })
}
