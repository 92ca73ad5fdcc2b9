import type { FollowOptions, SourceStep } from '../mail.ts'
import { goneStep, recordChanges } from './changes.ts'
import { type FolderCursor, type FolderState, freshCursor, isSince, readCursor, walkAgain } from './cursor.ts'
import { beginWalk, type DeltaPage, readOn } from './delta.ts'
import { LinkExpired } from './failure.ts'
import type { GraphConnection } from './graph-connection.ts'
import { isSameState, look } from './quiet-look.ts'
import { compareWithoutDelta } from './without-delta.ts'

/** A link is stored again after this time, although it brought nothing. */
const STORED_MS_MAX = 6 * 3_600_000
/** Pages of one round. The next pass goes on from there. */
const PAGES_MAX = 2_000

const UNKNOWN: FolderState = { total: null, unread: null, modifiedAt: null, mark: null }

/** `MailProvider.compare`: the changes of a folder since its link. They have new mail as well. */
export async function* compareFolder(
  connection: GraphConnection,
  source: string,
  options: FollowOptions,
): AsyncGenerator<SourceStep, void, void> {
  const { api, seen } = connection
  const now = api.now()
  // The state from before the changes are asked for: what happens meanwhile is noticed at the next look.
  if (!seen.hasLooked) await look(connection, { signal: options.signal })
  const state = seen.folders.get(source) ?? UNKNOWN
  const cursor = readCursor(options.cursor)
  if (cursor === null) {
    seen.compared.set(source, state)
    yield { type: 'reset', keys: 'void', cursor: freshCursor(options.since, state, now) }
    return
  }
  if (cursor.stage === 'due') {
    seen.compared.set(source, state)
    yield { type: 'reset', keys: 'kept', cursor: { ...walkAgain(cursor), ...state } }
    return
  }
  let known = state
  if (!api.cloud.has.messageDelta)
    known = yield* compareWithoutDelta(connection, source, { cursor, state, options })
  else if (cursor.link !== null) yield* compareByLink(connection, source, { cursor, state, options })
  seen.compared.set(source, known)
  seen.askedAt.set(source, now)
}

async function* compareByLink(
  connection: GraphConnection,
  source: string,
  { cursor: begun, state, options }: { cursor: FolderCursor; state: FolderState; options: FollowOptions },
): AsyncGenerator<SourceStep, void, void> {
  const { api, seen } = connection
  // A message whose arrival is never told may be among the newest modifications.
  const untold = new Map(
    seen.recent.filter(({ folderId }) => folderId === source).map(message => [message.id, message]),
  )
  let cursor = begun
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page = await readPage(connection, cursor.link!, options)
    if (page === null) {
      // A link from before the reset and the walk also reports messages that come and go between them.
      const link = await linkOf(connection, source, options)
      yield { type: 'reset', keys: 'kept', cursor: { ...walkAgain(cursor), ...state, link } }
      return
    }
    for (const { id } of page.items) untold.delete(id)
    for (const id of page.removed) untold.delete(id)
    if (!page.isLast) {
      const next = { ...cursor, link: page.link }
      cursor = yield* recordChanges(connection, source, page, { cursor, next, options })
      continue
    }
    const doubted = [...untold.values()].filter(
      ({ receivedAt, modifiedAt }) =>
        modifiedAt >= (begun.modifiedAt ?? 0) && isSince(receivedAt, begun.listedSince),
    )
    const lacking = doubted.length === 0 ? [] : await options.lacking(doubted.map(({ id }) => id))
    const last = { ...page, items: [...page.items, ...lacking.map(id => ({ id }))] }
    const next = { ...cursor, ...state, link: page.link, askedAt: api.now() }
    const isQuiet = last.items.length === 0 && last.removed.length === 0
    const mustStore =
      !isSameState(begun, state) || api.now() - begun.askedAt > STORED_MS_MAX || cursor !== begun
    if (!isQuiet) yield* recordChanges(connection, source, last, { cursor, next, options })
    else if (mustStore) yield { type: 'page', steps: goneStep([]), cursor: next }
    return
  }
}

/** Null if Graph no longer knows the link. */
async function readPage(
  connection: GraphConnection,
  link: string,
  { signal }: FollowOptions,
): Promise<DeltaPage | null> {
  try {
    return await readOn(connection, link, { signal })
  } catch (error) {
    if (error instanceof LinkExpired) return null
    throw error
  }
}

/**
 * A link to the changes from now on, which only a walk through the folder gives. Null for a folder with
 * too many pages for one pass: its changes are known from the end of the walk, which continues over several passes.
 */
async function linkOf(
  connection: GraphConnection,
  source: string,
  { signal }: FollowOptions,
): Promise<string | null> {
  let page = await beginWalk(connection, source, { signal })
  for (let pages = 1; !page.isLast; pages += 1) {
    if (pages >= PAGES_MAX) return null
    page = await readOn(connection, page.link, { signal })
  }
  return page.link
}
