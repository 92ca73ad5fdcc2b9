import type { ContactsStep, FollowFolder } from '../contacts.ts'
import { ProviderFailure } from '../failure.ts'
import type { AddressBook } from './address-books.ts'
import { type BookCursor, readCursor, UnsettledCards } from './cursor.ts'
import { isTokenRefusal, type Listing, type SyncPage } from './listing.ts'
import type { ReadCards } from './reading.ts'
import { inPieces } from './xml-stream.ts'

/** The questions that following one address book asks. */
export interface FollowedBook {
  describe(): Promise<AddressBook>
  list(): Promise<Listing>
  /** An empty token asks for everything. */
  askChanges(syncToken: string): Promise<SyncPage>
  read(paths: readonly string[]): Promise<ReadCards>
}

type Steps<T> = AsyncGenerator<ContactsStep, T, void>

/** Cards that are read at once. */
export const READ_MAX = 50
const GONE_MAX = 1_000
/** Pages of changes in one pass. */
const PAGES_MAX = 1_000
/** A book that seems to lose more than this, and more than half, is listed again. */
const LOST_MAX = 100
/** Cards that are looked at before the event loop may be another's. */
const PIECE = 5_000

/**
 * The changes of a book since a cursor: by the server's token, else by its tag, else by comparing all versions. A token
 * that the server does not take means a comparison, and nothing else: only a card that the server reports as gone, or
 * that a complete listing lacks, is gone.
 */
export async function* followBook(
  book: FollowedBook,
  { cursor, known }: Pick<FollowFolder, 'cursor' | 'known'>,
): Steps<void> {
  const from = readCursor(cursor)
  if (from && from.syncToken !== null) {
    if (yield* followToken(book, from, from.syncToken)) return
  } else if (from && from.ctag !== null) {
    const now = await book.describe()
    if (now.syncToken === null && now.ctag === from.ctag) {
      yield* bring(book, from.unsettled)
      return yield { type: 'end', cursor: { ...from, unsettled: [] } }
    }
  }
  yield* compare(book, await known(), new Set(from?.unsettled))
}

/** Returns false if the server does not take the token. */
async function* followToken(book: FollowedBook, { unsettled }: BookCursor, first: string): Steps<boolean> {
  let syncToken = first
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page = await book.askChanges(syncToken).catch(orNullIf(isTokenRefusal))
    if (page === null || page.syncToken === null) return false
    if (page.isTruncated && page.syncToken === syncToken) return false
    const isLeft = (path: string) => !page.gone.has(path) && !page.changed.has(path)
    yield* leave(page.gone)
    yield* bring(book, [...page.changed.keys(), ...(count === 0 ? unsettled.filter(isLeft) : [])])
    syncToken = page.syncToken
    const next: BookCursor = { syncToken, ctag: null, unsettled: [] }
    if (!page.isTruncated) {
      yield { type: 'end', cursor: next }
      return true
    }
    yield { type: 'gone', keys: [], cursor: next }
  }
  return false
}

/** Compares all versions. The token and the tag are from before the listing: a change meanwhile is reported twice. */
async function* compare(
  book: FollowedBook,
  known: ReadonlyMap<string, string>,
  doubted: ReadonlySet<string>,
): Steps<void> {
  const { syncToken, ctag } = await book.describe()
  let listing = await listWhole(book, syncToken)
  let lost = await findLost(known, listing)
  if (isDoubtful(lost.length, known.size)) {
    listing = await listMore(listing, await listWhole(book, syncToken))
    lost = await findLost(known, listing)
  }
  yield* leave(lost)
  const { wanted, again, latest } = await chooseCards(listing, known, doubted)
  yield* bring(book, wanted, known)
  yield* bring(book, again)
  // After an incomplete listing nothing leads on, so the next pass lists again.
  const next: BookCursor = listing.isComplete
    ? {
        syncToken,
        ctag,
        unsettled: latest.filter(path => !again.includes(path)),
      }
    : { syncToken: null, ctag: null, unsettled: [] }
  yield { type: 'end', cursor: next }
}

/** The versions of all cards. Throws `unavailable` if the server does not list all. */
export async function listForComparison(book: FollowedBook): Promise<Listing['members']> {
  const { members, isComplete } = await listWhole(book, (await book.describe()).syncToken)
  if (isComplete) return members
  throw new ProviderFailure('unavailable', 'The server lists only a part of the address book.')
}

/**
 * A server that leaves out part of a listing may list everything page by page.
 * @param given the token that the server gave; null if it has none
 */
async function listWhole(book: FollowedBook, given: string | null): Promise<Listing> {
  const listing = await book.list()
  if (listing.isComplete || given === null) return listing
  const { members } = listing
  let syncToken = ''
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page = await book.askChanges(syncToken).catch(orNullIf(isTokenRefusal))
    if (page === null || page.syncToken === null || (page.isTruncated && page.syncToken === syncToken))
      return listing
    await listMore(listing, { members: page.changed, isComplete: false })
    for (const path of page.gone) members.delete(path)
    if (!page.isTruncated) return { members, isComplete: true }
    syncToken = page.syncToken
  }
  return listing
}

/**
 * The cards to read: `wanted`, of which the index has another version or none, and `again`, which were in doubt. The
 * versions of `latest` are of the last second.
 */
async function chooseCards(
  { members }: Listing,
  known: ReadonlyMap<string, string>,
  doubted: ReadonlySet<string>,
) {
  const wanted: string[] = []
  const again: string[] = []
  const unsettled = new UnsettledCards()
  for await (const piece of inPieces(members, PIECE)) {
    for (const [path, version] of piece) {
      unsettled.add(path, version)
      if (version === null || known.get(path) !== version) wanted.push(path)
      else if (doubted.has(path)) again.push(path)
    }
  }
  return { wanted, again, latest: unsettled.paths }
}

/** A card is in a listing if it is in either of these. */
async function listMore({ members }: Listing, again: Listing): Promise<Listing> {
  for await (const piece of inPieces(again.members, PIECE))
    for (const [path, version] of piece) members.set(path, version)
  return { members, isComplete: again.isComplete }
}

async function findLost(
  known: ReadonlyMap<string, string>,
  { members, isComplete }: Listing,
): Promise<string[]> {
  const lost: string[] = []
  if (!isComplete) return lost
  for await (const paths of inPieces(known.keys(), PIECE))
    for (const path of paths) if (!members.has(path)) lost.push(path)
  return lost
}

/** Whether a loss may be a fault of the server: then it is asked again. */
export function isDoubtful(lost: number, known: number): boolean {
  return lost > 0 && (lost === known || (lost > LOST_MAX && lost > known / 2))
}

async function* leave(paths: Iterable<string>): Steps<void> {
  for await (const keys of inPieces(paths, GONE_MAX)) yield { type: 'gone', keys }
}

/** Reads cards, and leaves out cards that the index holds in the same version, if its versions are known. */
async function* bring(
  book: FollowedBook,
  paths: readonly string[],
  known: ReadonlyMap<string, string> | null = null,
): Steps<void> {
  const isNews = ({ key, version }: { key: string; version: string | null }) =>
    version === null || known?.get(key) !== version
  for (let at = 0; at < paths.length; at += READ_MAX) {
    const { contacts, unreadable, absent } = await book.read(paths.slice(at, at + READ_MAX))
    const gone = known ? absent.filter(key => known.has(key)) : absent
    if (gone.length > 0) yield { type: 'gone', keys: gone }
    const [news, faults] = [contacts.filter(isNews), unreadable.filter(isNews)]
    const remaining = Math.max(0, paths.length - at - READ_MAX)
    if (news.length + faults.length > 0)
      yield { type: 'contacts', contacts: news, unreadable: faults, remaining }
  }
}

function orNullIf(isExpected: (error: unknown) => boolean) {
  return (error: unknown): null => {
    if (isExpected(error)) return null
    throw error
  }
}
