import { readDate } from '../../../kit/mime/date.ts'
import type { MovedBatch } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { SourceCursor } from '../../mail.ts'
import { uidSets } from '../compare.ts'
import { UIDS_PER_CHANGE } from '../expected-answers.ts'
import { fetchItems } from '../fetch.ts'
import { type TrackedMailboxes, rememberChange, wireNameOf } from '../follow.ts'
import { searchAlike } from '../search.ts'
import { type CopiedUids, readCopyUid, toBatch } from './copy-uid.ts'
import type { Effect } from './effect.ts'
import { openSource } from './open-source.ts'
import { removeFromOpen } from './remove.ts'

/** Fields that copies of a message share, and different messages of the same second and size do not. */
const TELLING_FIELDS = ['MESSAGE-ID', 'DATE', 'FROM', 'SUBJECT', 'RECEIVED']

const atom = (value: string) => ({ type: 'ATOM', value })

interface Facts {
  uid: number
  receivedAt: Date
  size: number
  /** Equal for copies of one message. */
  digest: string
}

/**
 * Moves at most `UIDS_PER_CHANGE` messages of the open source on a server without MOVE. An earlier try may have ended
 * between the copy and the removal, so messages of which the target already has a copy are only removed.
 */
export async function copyAndRemove(
  tracked: TrackedMailboxes,
  effect: Effect,
  at: SourceCursor & { uids: readonly number[] },
  targetKey: string,
): Promise<MovedBatch> {
  const { connection } = tracked
  const originals = await readFacts(tracked, at.uids)
  const present = originals.map(({ uid }) => uid)
  const before = await findCopies(tracked, originals, targetKey)
  await openSource(tracked, at, { isFresh: false })
  const toCopy = present.filter(uid => !before.copies.uids.has(uid))
  const reported: CopiedUids = { uidValidity: 0, uids: new Map() }
  for (const { set } of uidSets(toCopy, UIDS_PER_CHANGE)) {
    const { attributes } = await effect.run({
      name: 'UID COPY',
      arguments: [{ type: 'SEQUENCE', value: set }, wireNameOf(tracked, targetKey)],
    })
    readCopyUid(attributes, reported, UIDS_PER_CHANGE)
  }
  // A message that COPYUID does not name was gone when it was to be copied.
  const isReported = connection.has('UIDPLUS') && reported.uids.size > 0
  let found = before.copies
  if (!isReported && toCopy.length > 0) {
    found = await requireCopies(tracked, originals, targetKey, before.exists + toCopy.length)
    await openSource(tracked, at, { isFresh: false })
  }
  const moved = isReported ? present.filter(uid => found.uids.has(uid) || reported.uids.has(uid)) : present
  await removeFromOpen(connection, effect, moved)
  const there = new Set(moved)
  return toBatch(
    moved,
    isReported ? together(found, reported) : found,
    targetKey,
    at.uids.filter(uid => !there.has(uid)),
  )
}

/** Adds the copies that a search found to the ones that COPYUID names. */
function together(found: CopiedUids, reported: CopiedUids): CopiedUids {
  // Under another numbering of the target, the found copies exist, but their numbers are unknown.
  if (found.uidValidity !== reported.uidValidity) return reported
  return { ...reported, uids: new Map([...found.uids, ...reported.uids]) }
}

/** Facts by which messages of the open mailbox can be told apart, in the order of their UIDs. */
async function readFacts({ connection }: TrackedMailboxes, uids: readonly number[]): Promise<Facts[]> {
  const facts = new Map<number, Facts>()
  const items = [
    ...['UID', 'INTERNALDATE', 'RFC822.SIZE'].map(atom),
    { type: 'ATOM', value: 'BODY.PEEK', section: [atom('HEADER.FIELDS'), TELLING_FIELDS.map(atom)] },
  ]
  const wanted = new Set(uids)
  const refusal = await fetchItems(connection, uids, items, ({ uid, internalDate, size, source }) => {
    if (!wanted.has(uid) || internalDate === null) return
    const header = source?.toString('latin1') ?? ''
    const receivedAt = readDate(internalDate) ?? new Date(0)
    facts.set(uid, { uid, receivedAt, size, digest: JSON.stringify([receivedAt, size, header.trim()]) })
  })
  if (refusal) throw refusal
  return uids.flatMap(uid => facts.get(uid) ?? [])
}

/**
 * Throws if the target lacks copies that a server claims to have made, since the originals are removed next. Its growth
 * is proof enough: some servers give a copy another time. @returns the copies that are found
 */
async function requireCopies(
  tracked: TrackedMailboxes,
  originals: readonly Facts[],
  targetKey: string,
  existsMin: number,
): Promise<CopiedUids> {
  const { copies, exists } = await findCopies(tracked, originals, targetKey)
  if (exists < existsMin && originals.some(({ uid }) => !copies.uids.has(uid)))
    throw new ProviderFailure(
      'unavailable',
      'The server claims to have copied messages, but does not have them.',
    )
  return copies
}

/**
 * The copies that the target already has, and the number of all its messages. Each message there is the copy of one at
 * most. Leaves the target open.
 */
async function findCopies(
  tracked: TrackedMailboxes,
  originals: readonly Facts[],
  targetKey: string,
): Promise<{ copies: CopiedUids; exists: number }> {
  const { connection } = tracked
  rememberChange(tracked)
  const { exists, uidValidity } = await connection.examine(wireNameOf(tracked, targetKey))
  const copies: CopiedUids = { uidValidity, uids: new Map() }
  if (exists === 0 || originals.length === 0) return { copies, exists }
  const alike = await readFacts(tracked, [...(await searchAlike(connection, originals))])
  const uidsOf = new Map<string, number[]>()
  for (const { uid, digest } of alike) uidsOf.set(digest, [...(uidsOf.get(digest) ?? []), uid])
  for (const { uid, digest } of originals) {
    const copy = uidsOf.get(digest)?.shift()
    if (copy !== undefined) copies.uids.set(uid, copy)
  }
  return { copies, exists }
}
