import { ProviderFailure } from '../failure.ts'
import type { Cursor } from '../mail.ts'
import { type CollectionCursor, readCursor, UnsettledFiles } from './cursor.ts'
import type { ReadFiles, UnreadableDavFile } from './files.ts'
import { isRefusal, type Listing, type SyncPage } from './listing.ts'
import { inPieces } from './xml-stream.ts'

/** The questions that following one collection asks. */
export interface FollowedCollection<T> {
  describe(): Promise<{ syncToken: string | null; ctag: string | null }>
  list(): Promise<Listing>
  /** An empty token asks for everything. */
  askChanges(syncToken: string): Promise<SyncPage>
  read(paths: readonly string[]): Promise<ReadFiles<T>>
  /** Chooses the files to be read among those that the index lacks. Absent: all. */
  choose?(paths: readonly string[]): Promise<ReadonlySet<string>>
}

/** A step of following a collection, as `ContactsStep` and `EventsStep` describe it. */
export type CollectionStep<T> =
  | {
      type: 'items'
      items: readonly T[]
      unreadable: readonly UnreadableDavFile[]
      remaining: number | null
      cursor?: Cursor
    }
  | { type: 'gone'; keys: readonly string[]; cursor?: Cursor }
  | { type: 'end'; cursor: Cursor }

export interface FollowFrom {
  cursor: Cursor | null
  known(): Promise<ReadonlyMap<string, string>>
}

/** A file as it was read. */
interface Held {
  key: string
  version: string
}

type Steps<T, R = void> = AsyncGenerator<CollectionStep<T>, R, void>

/** Files that are read at once. */
const READ_MAX = 50
const GONE_MAX = 1_000
const LISTED_AT_ONCE = 1_000
/** Pages of changes in one pass. */
const PAGES_MAX = 1_000
/** A collection that seems to lose more than this, and more than half, is listed again. */
const LOST_MAX = 100
/** Files that are looked at before the event loop may be another's. */
const PIECE = 5_000

/**
 * The changes of a collection since a cursor: by the server's token, else by its tag, else by comparing all versions. A token
 * that the server does not take means a comparison, and nothing else: only a file that the server reports as gone, or
 * that a complete listing lacks, is gone.
 */
export async function* followCollection<T extends Held>(
  collection: FollowedCollection<T>,
  { cursor, known }: FollowFrom,
): Steps<T> {
  const from = readCursor(cursor)
  if (from && from.syncToken !== null) {
    if (yield* followToken(collection, from, from.syncToken)) return
  } else if (from && from.ctag !== null) {
    const now = await collection.describe()
    if (now.syncToken === null && now.ctag === from.ctag) {
      yield* bring(collection, from.unsettled)
      return yield { type: 'end', cursor: { ...from, unsettled: [] } }
    }
  }
  yield* compare(collection, await known(), new Set(from?.unsettled))
}

/** Returns false if the server does not take the token. */
async function* followToken<T extends Held>(
  collection: FollowedCollection<T>,
  { unsettled }: CollectionCursor,
  first: string,
): Steps<T, boolean> {
  let syncToken = first
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page = await collection.askChanges(syncToken).catch(orNullIf(isRefusal))
    if (page === null || page.syncToken === null) return false
    if (page.isTruncated && page.syncToken === syncToken) return false
    const isLeft = (path: string) => !page.gone.has(path) && !page.changed.has(path)
    yield* leave(page.gone)
    yield* bring(collection, [...page.changed.keys(), ...(count === 0 ? unsettled.filter(isLeft) : [])])
    syncToken = page.syncToken
    const next: CollectionCursor = { syncToken, ctag: null, unsettled: [] }
    if (!page.isTruncated) {
      yield { type: 'end', cursor: next }
      return true
    }
    yield { type: 'gone', keys: [], cursor: next }
  }
  return false
}

/** Compares all versions. The token and the tag are from before the listing: a change meanwhile is reported twice. */
async function* compare<T extends Held>(
  collection: FollowedCollection<T>,
  known: ReadonlyMap<string, string>,
  doubted: ReadonlySet<string>,
): Steps<T> {
  const { syncToken, ctag } = await collection.describe()
  let listing = await listWhole(collection, syncToken)
  let lost = await findLost(known, listing)
  if (isDoubtful(lost.length, known.size)) {
    listing = await listMore(listing, await listWhole(collection, syncToken))
    lost = await findLost(known, listing)
  }
  yield* leave(lost)
  const { wanted, again, latest } = await chooseFiles(collection, listing, { known, doubted })
  yield* bring(collection, wanted, known)
  yield* bring(collection, again)
  // After an incomplete listing nothing leads on, so the next pass lists again.
  const next: CollectionCursor = listing.isComplete
    ? {
        syncToken,
        ctag,
        unsettled: latest.filter(path => !again.includes(path)),
      }
    : { syncToken: null, ctag: null, unsettled: [] }
  yield { type: 'end', cursor: next }
}

/**
 * Keys and versions of the files that a collection would bring to an empty index. Throws `unavailable` if the server
 * does not list all.
 */
export async function* listVersions<T extends Held>(
  collection: FollowedCollection<T>,
): AsyncGenerator<readonly Held[], void, void> {
  const { members, isComplete } = await listWhole(collection, (await collection.describe()).syncToken)
  if (!isComplete) throw new ProviderFailure('unavailable', 'The server lists only a part of the collection.')
  const chosen = collection.choose ? await collection.choose([...members.keys()]) : members
  const unnamed: string[] = []
  for await (const piece of inPieces(members, LISTED_AT_ONCE)) {
    const some = piece.filter(([key]) => chosen.has(key))
    unnamed.push(...some.flatMap(([key, version]) => (version === null ? key : [])))
    yield some.flatMap(([key, version]) => (version === null ? [] : { key, version }))
  }
  // Without an ETag, the version is one of the content.
  for await (const keys of inPieces(unnamed, READ_MAX)) yield (await collection.read(keys)).items
}

/**
 * A server that leaves out part of a listing may list everything page by page.
 * @param given the token that the server gave; null if it has none
 */
async function listWhole(collection: FollowedCollection<unknown>, given: string | null): Promise<Listing> {
  const listing = await collection.list()
  if (listing.isComplete || given === null) return listing
  const { members } = listing
  let syncToken = ''
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page = await collection.askChanges(syncToken).catch(orNullIf(isRefusal))
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
 * The files to read: `wanted`, of which the index has another version or none, and `again`, which were in doubt. The
 * versions of `latest` are of the last second.
 */
async function chooseFiles(
  { choose }: Pick<FollowedCollection<unknown>, 'choose'>,
  { members }: Listing,
  { known, doubted }: { known: ReadonlyMap<string, string>; doubted: ReadonlySet<string> },
) {
  const wanted: string[] = []
  const lacking: string[] = []
  const again: string[] = []
  const unsettled = new UnsettledFiles()
  for await (const piece of inPieces(members, PIECE)) {
    for (const [path, version] of piece) {
      unsettled.add(path, version)
      const held = known.get(path)
      if (held === undefined) lacking.push(path)
      else if (version === null || held !== version) wanted.push(path)
      else if (doubted.has(path)) again.push(path)
    }
  }
  const chosen = choose ? await choose(lacking) : null
  wanted.push(...(chosen ? lacking.filter(path => chosen.has(path)) : lacking))
  return { wanted, again, latest: unsettled.paths }
}

/** A file is in a listing if it is in either of these. */
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

async function* leave(paths: Iterable<string>): Steps<never> {
  for await (const keys of inPieces(paths, GONE_MAX)) yield { type: 'gone', keys }
}

/** Reads files, and leaves out files that the index holds in the same version, if its versions are known. */
async function* bring<T extends Held>(
  collection: FollowedCollection<T>,
  paths: readonly string[],
  known: ReadonlyMap<string, string> | null = null,
): Steps<T> {
  const isNews = ({ key, version }: { key: string; version: string | null }) =>
    version === null || known?.get(key) !== version
  for (let at = 0; at < paths.length; at += READ_MAX) {
    const { items, unreadable, absent } = await collection.read(paths.slice(at, at + READ_MAX))
    const gone = known ? absent.filter(key => known.has(key)) : absent
    if (gone.length > 0) yield { type: 'gone', keys: gone }
    const [news, faults] = [items.filter(isNews), unreadable.filter(isNews)]
    const remaining = Math.max(0, paths.length - at - READ_MAX)
    if (news.length + faults.length > 0) yield { type: 'items', items: news, unreadable: faults, remaining }
  }
}

function orNullIf(isExpected: (error: unknown) => boolean) {
  return (error: unknown): null => {
    if (isExpected(error)) return null
    throw error
  }
}
