import type { MessageSet, MovedBatch } from '../../changing.ts'
import { uidSets } from '../compare.ts'
import { UIDS_PER_CHANGE } from '../expected-answers.ts'
import { type TrackedMailboxes, rememberChange, wireNameOf } from '../follow.ts'
import { searchPresent } from '../search.ts'
import { copyAndRemove } from './copy-and-remove.ts'
import { type CopiedUids, readCopyUid, toBatch } from './copy-uid.ts'
import { changingInBatches, type Effect } from './effect.ts'
import { locationOf, openSource, uidsOf } from './open-source.ts'
import { requireNoneKept, searchKept } from './remove.ts'
import { requireReadable, withoutOthers } from './without-others.ts'

/** `ChangingProvider.move` on IMAP: by MOVE (RFC 6851), otherwise by a copy and the removal of the original. */
export function moveMessages(
  tracked: TrackedMailboxes,
  at: MessageSet,
  targetKey: string,
): AsyncGenerator<MovedBatch, void, void> {
  return changingInBatches(tracked.connection, async function* (effect) {
    const { opened } = await openSource(tracked, at)
    const { uids, others, unreadableCount } = await withoutOthers(tracked, at, uidsOf(at.keys), {
      isExact: true,
    })
    if (others.length > 0) yield { moved: [], gone: [], others }
    if (targetKey === at.source) yield stay(opened.uidValidity, at, await presentOf(tracked, uids))
    else yield* moveAll(tracked, effect, { ...at, uids }, targetKey)
    requireReadable(unreadableCount)
  })
}

async function* moveAll(
  tracked: TrackedMailboxes,
  effect: Effect,
  { uids, ...at }: MessageSet & { uids: readonly number[] },
  targetKey: string,
): AsyncGenerator<MovedBatch, void, void> {
  for (const { from, to } of uidSets(uids, UIDS_PER_CHANGE)) {
    const batch = uids.slice(from, to)
    if (tracked.connection.has('MOVE')) yield* moveSet(tracked, effect, batch, targetKey)
    else yield await copyAndRemove(tracked, effect, { ...at, uids: batch }, targetKey)
  }
}

/** Moving to where messages are changes nothing. */
function stay(
  uidValidity: number,
  { source }: MessageSet,
  { present, gone }: { present: readonly number[]; gone: number[] },
): MovedBatch {
  const moved = present.map(key => ({
    key,
    location: locationOf(source, uidValidity, key),
    mailboxKeys: [source],
  }))
  return { moved, gone }
}

async function presentOf({ connection }: TrackedMailboxes, uids: readonly number[]) {
  const present = new Set(await searchPresent(connection, uids))
  return { present: uids.filter(uid => present.has(uid)), gone: uids.filter(uid => !present.has(uid)) }
}

async function* moveSet(
  tracked: TrackedMailboxes,
  effect: Effect,
  uids: readonly number[],
  targetKey: string,
): AsyncGenerator<MovedBatch, void, void> {
  const { connection } = tracked
  const target = wireNameOf(tracked, targetKey)
  // A server that does not report where messages went does not report which there were, either.
  const { present, gone } = connection.has('UIDPLUS')
    ? { present: uids, gone: [] }
    : await presentOf(tracked, uids)
  const copied: CopiedUids = { uidValidity: 0, uids: new Map() }
  let failure: unknown = null
  rememberChange(tracked)
  for (const { set } of uidSets(present, UIDS_PER_CHANGE)) {
    try {
      const { attributes } = await effect.run({
        name: 'UID MOVE',
        arguments: [{ type: 'SEQUENCE', value: set }, target],
        // RFC 6851 section 4.3: COPYUID comes before the messages leave.
        answers: { OK: (_, values) => readCopyUid(values, copied, UIDS_PER_CHANGE) },
      })
      readCopyUid(attributes, copied, UIDS_PER_CHANGE)
    } catch (error) {
      failure = error
      break
    }
  }
  if (failure) {
    if (connection.isClosed) throw failure
    // RFC 6851 section 3.3: a server may have moved some.
    await connection.run({ name: 'NOOP' })
    const left = new Set(await searchPresent(connection, present))
    const moved = present.filter(uid => copied.uids.has(uid) && !left.has(uid))
    if (moved.length > 0) yield toBatch(moved, copied, targetKey, [])
    throw failure
  }
  const reported = present.filter(uid => copied.uids.has(uid))
  if (reported.length === present.length) return yield toBatch(present, copied, targetKey, gone)
  // The server may report only now which messages left.
  await connection.run({ name: 'NOOP' })
  const unreported = present.filter(uid => !copied.uids.has(uid))
  const kept = new Set(await searchKept(connection, unreported))
  const left = unreported.filter(uid => !kept.has(uid))
  const isReported = connection.has('UIDPLUS') && (reported.length > 0 || !connection.takeNotice().gone)
  const moved = isReported ? reported : [...reported, ...left].toSorted((a, b) => a - b)
  yield toBatch(moved, copied, targetKey, isReported ? [...gone, ...left] : gone)
  requireNoneKept(kept.size)
}
