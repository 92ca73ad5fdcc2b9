import { readDate } from '../../../kit/mime/date.ts'
import type { MovedBatch } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { SourceCursor } from '../../mail.ts'
import { uidSets } from '../compare.ts'
import { UIDS_PER_CHANGE } from '../expected-answers.ts'
import { fetchItems } from '../fetch.ts'
import { type Following, rememberChange, wireNameOf } from '../follow.ts'
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
 * between the copy and the removal, so what the target already has a copy of is only removed.
 */
export async function copyAndRemove(
  following: Following,
  effect: Effect,
  at: SourceCursor & { uids: readonly number[] },
  targetKey: string,
): Promise<MovedBatch> {
  const { connection } = following
  const originals = await readFacts(following, at.uids)
  const present = originals.map(({ uid }) => uid)
  const { copies, exists } = await findCopies(following, originals, targetKey)
  await openSource(following, at, { isFresh: false })
  const toCopy = present.filter(uid => !copies.has(uid))
  const copied: CopiedUids = { uidValidity: 0, uids: new Map() }
  for (const { set } of uidSets(toCopy, UIDS_PER_CHANGE)) {
    const { attributes } = await effect.run({
      name: 'UID COPY',
      arguments: [{ type: 'SEQUENCE', value: set }, wireNameOf(following, targetKey)],
    })
    readCopyUid(attributes, copied, UIDS_PER_CHANGE)
  }
  // A message that COPYUID does not name was gone when it was to be copied.
  const isTold = connection.has('UIDPLUS') && copied.uids.size > 0
  if (!isTold && toCopy.length > 0) {
    await requireCopies(following, originals, targetKey, exists + toCopy.length)
    await openSource(following, at, { isFresh: false })
  }
  const moved = isTold ? present.filter(uid => copies.has(uid) || copied.uids.has(uid)) : present
  await removeFromOpen(connection, effect, moved)
  const there = new Set(moved)
  return toBatch(
    moved,
    copied,
    targetKey,
    at.uids.filter(uid => !there.has(uid)),
  )
}

/** What tells messages of the open mailbox apart, in the order of their UIDs. */
async function readFacts({ connection }: Following, uids: readonly number[]): Promise<Facts[]> {
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
 * Throws if the target lacks copies that a server says it has made, since the originals are removed next. That it has
 * grown is enough: some servers give a copy another time.
 */
async function requireCopies(
  following: Following,
  originals: readonly Facts[],
  targetKey: string,
  existsMin: number,
): Promise<void> {
  const { copies, exists } = await findCopies(following, originals, targetKey)
  if (exists < existsMin && originals.some(({ uid }) => !copies.has(uid)))
    throw new ProviderFailure(
      'unavailable',
      'The server says that it copied messages, but does not have them.',
    )
}

/**
 * UIDs of the messages of which the target already has a copy, and the number of all its messages. Each message there is
 * the copy of one at most. Leaves the target open.
 */
async function findCopies(
  following: Following,
  originals: readonly Facts[],
  targetKey: string,
): Promise<{ copies: Set<number>; exists: number }> {
  const { connection } = following
  rememberChange(following)
  const { exists } = await connection.examine(wireNameOf(following, targetKey))
  const copies = new Set<number>()
  if (exists === 0 || originals.length === 0) return { copies, exists }
  const alike = await searchAlike(connection, originals)
  const counts = new Map<string, number>()
  for (const { digest } of await readFacts(following, [...alike]))
    counts.set(digest, (counts.get(digest) ?? 0) + 1)
  for (const { uid, digest } of originals) {
    const count = counts.get(digest) ?? 0
    if (count === 0) continue
    counts.set(digest, count - 1)
    copies.add(uid)
  }
  return { copies, exists }
}
