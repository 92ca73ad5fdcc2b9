import type { FollowFolder, RemoteContactFolder } from '../../contacts.ts'
import type { Cursor } from '../../mail.ts'
import type { AskOptions } from '../api.ts'
import type { DeltaPage } from '../delta.ts'
import { compareFolder, compareListed } from './comparing.ts'
import { isWhole } from './contact.ts'
import { type GraphItem } from '../items.ts'
import { keepLate, splitUnfound } from '../late-items.ts'
import type { ContactsConnection } from './contacts-connection.ts'
import { type FolderCursor, readCursor } from './cursor.ts'
import { pathOfFolder } from './folders.ts'
import { askMark } from '../mark.ts'
import { continueContacts } from './pages.ts'
import { type ReadContacts, readContacts, sortOut } from './reading.ts'
import { READ_AT_ONCE, type Steps, stepsOf } from './steps.ts'

/** Pages of one round. The next pass goes on from there. */
const PAGES_MAX = 2_000
/**
 * A folder is compared as a whole after this time, and its new link is stored. A delta need not report a contact that was made
 * in one folder and moved to another one between two looks.
 */
const COMPARED_MS_MAX = 6 * 3_600_000

/**
 * `ContactsProvider.findChanged`: asks each folder for its changes, which is the cheapest question that Graph has. The
 * answers are kept until the folders are followed.
 */
export async function findChanged(
  connection: ContactsConnection,
  folders: ReadonlyArray<{ folder: RemoteContactFolder; cursor: Cursor | null }>,
  options: AskOptions,
): Promise<ReadonlySet<string>> {
  connection.pages.clear()
  const changed = new Set<string>()
  for (const { folder, cursor } of folders) {
    const from = readCursor(cursor)
    if (from === null || isDue(connection, from) || (await hasNews(connection, folder.key, from, options)))
      changed.add(folder.key)
  }
  return changed
}

function isDue(
  { api }: ContactsConnection,
  { walk, link, mark, unfound, comparedAt }: FolderCursor,
): boolean {
  const isBegun = walk !== null || (link === null && mark === null)
  return isBegun || unfound.length > 0 || isLongAgo(api.now() - comparedAt)
}

function isLongAgo(agoMs: number): boolean {
  return agoMs < 0 || agoMs >= COMPARED_MS_MAX
}

async function hasNews(
  connection: ContactsConnection,
  folderId: string,
  { link, mark }: FolderCursor,
  options: AskOptions,
): Promise<boolean> {
  if (link === null)
    return (await askMark(connection.api, `${pathOfFolder(folderId)}/contacts`, options)) !== mark
  return connection.pages.hasNews(link, asked => continueContacts(connection, asked, options))
}

/** `ContactsProvider.follow`: by the link of the delta, else by a comparison of the whole folder. */
export async function* followFolder(
  connection: ContactsConnection,
  { folder, cursor, known, signal }: FollowFolder,
): Steps<void> {
  const from = readCursor(cursor)
  const options: AskOptions = { urgency: 'late', signal }
  const followed = from?.link ? yield* followLink(connection, from, from.link, options) : 'expired'
  if (followed === 'more') return
  if (followed === 'expired') return yield* compareFolder(connection, folder.key, { from, known, options })
  const now = connection.api.now()
  const isToCompare = isLongAgo(now - followed.comparedAt)
  if (isToCompare) yield* compareListed(connection, folder.key, await known(), options)
  yield { type: 'end', cursor: isToCompare ? { ...followed, comparedAt: now } : followed }
}

/** @returns the cursor behind the last page; `expired` if Graph no longer knows a link, `more` if there are more pages */
async function* followLink(
  connection: ContactsConnection,
  begun: FolderCursor,
  first: string,
  options: AskOptions,
): Steps<FolderCursor | 'expired' | 'more'> {
  let cursor = begun
  let link = first
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page = await connection.pages.read(link, asked => continueContacts(connection, asked, options))
    if (page === null) return 'expired'
    cursor = { ...cursor, link: page.link }
    cursor = yield* bringChanges(connection, page, cursor, options)
    if (page.isLast) return cursor
    yield { type: 'gone', keys: [], cursor }
    link = page.link
  }
  return 'more'
}

/**
 * The changes of a page, and contacts that were not found before. A contact that has left the folder may be in another one,
 * which need not report it, so it is asked for by its id. A contact that is named before every server has it stays in the
 * cursor.
 */
async function* bringChanges(
  connection: ContactsConnection,
  page: DeltaPage<GraphItem>,
  cursor: FolderCursor,
  options: AskOptions,
): Steps<FolderCursor> {
  const result: ReadContacts = { contacts: [], unreadable: [], gone: [] }
  const partial: string[] = []
  for (const item of page.items)
    if (isWhole(item)) await sortOut(connection, item, result, options)
    else partial.push(item.id)
  yield* stepsOf(result)
  const now = connection.api.now()
  const named = new Set(partial)
  const asked = [...new Set([...cursor.unfound, ...partial, ...page.removed])]
  const allLate: string[] = []
  for (let at = 0; at < asked.length; at += READ_AT_ONCE) {
    const read = await readContacts(connection, asked.slice(at, at + READ_AT_ONCE), options)
    const { late, gone } = splitUnfound(cursor, { keys: read.gone, named, now })
    allLate.push(...late)
    yield* stepsOf({ ...read, gone })
  }
  return { ...cursor, ...keepLate(cursor, allLate, now) }
}
