import { setTimeout as sleep } from 'node:timers/promises'
import type { MessageSet, RemovedBatch } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import { uidSets } from '../compare.ts'
import type { ImapConnection } from '../connection.ts'
import { UIDS_PER_CHANGE } from '../expected-answers.ts'
import type { TrackedMailboxes } from '../follow.ts'
import { searchDeleted, searchPresent } from '../search.ts'
import { readFetched } from '../translate.ts'
import { changingInBatches, type Effect } from './effect.ts'
import { isKept, openSource, uidsOf } from './open-source.ts'
import { requireReadable, withoutOthers } from './without-others.ts'

/** The most messages, marked as deleted by other clients, that are unmarked meanwhile without UIDPLUS. */
const OTHERS_MAX = 10_000
/** Other clients may mark more at the same time. */
const ROUNDS_MAX = 5
/** Pauses before another search for messages that the server shows although they have left. */
const LATE_MS = [0, 1_000]

const atom = (value: string) => ({ type: 'ATOM', value })
const sequence = (value: string) => ({ type: 'SEQUENCE', value })

/** `ChangingProvider.remove` on IMAP. */
export function removeMessages(
  tracked: TrackedMailboxes,
  at: MessageSet,
): AsyncGenerator<RemovedBatch, void, void> {
  return changingInBatches(tracked.connection, async function* (effect) {
    await openSource(tracked, at)
    const { uids, others, unreadableCount } = await withoutOthers(tracked, at, uidsOf(at.keys), {
      isExact: true,
    })
    if (others.length > 0) yield { removed: [], gone: [], others }
    for (const { from, to } of uidSets(uids, UIDS_PER_CHANGE)) {
      yield await removeFromOpen(tracked.connection, effect, uids.slice(from, to))
    }
    requireReadable(unreadableCount)
  })
}

/** Removes at most `UIDS_PER_CHANGE` messages of the open mailbox, and no others. */
export async function removeFromOpen(
  connection: ImapConnection,
  effect: Effect,
  uids: readonly number[],
): Promise<RemovedBatch> {
  if (connection.selected && !isKept(connection.selected, '\\Deleted'))
    throw new ProviderFailure('forbidden', 'The server does not let messages of this mailbox be removed.')
  if (uids.length === 0) return { removed: [], gone: [] }
  const removed = new Set(
    connection.has('UIDPLUS')
      ? await expungeByUid(connection, effect, uids)
      : await expungeAlone(connection, effect, uids),
  )
  requireNoneKept((await searchKept(connection, uids)).length)
  return { removed: [...removed], gone: uids.filter(uid => !removed.has(uid)) }
}

/** The given UIDs, ascending, that have not left the open mailbox. A server may report late to a session which have. */
export async function searchKept(connection: ImapConnection, uids: readonly number[]): Promise<Uint32Array> {
  let kept = await searchPresent(connection, uids)
  for (const pauseMs of LATE_MS) {
    if (kept.length === 0) break
    await sleep(pauseMs)
    await connection.run({ name: 'NOOP' })
    kept = await searchPresent(connection, kept)
  }
  return kept
}

/** Throws if messages are still in a mailbox although the server claims that they left. */
export function requireNoneKept(count: number): void {
  if (count > 0) throw new ProviderFailure('rejected', `The server keeps ${count} of the messages.`)
}

async function expungeByUid(
  connection: ImapConnection,
  effect: Effect,
  uids: readonly number[],
): Promise<number[]> {
  const marked = await markPresent(connection, effect, uids)
  for (const { set } of uidSets(marked, UIDS_PER_CHANGE))
    await effect.run({ name: 'UID EXPUNGE', arguments: [sequence(set)] })
  return marked
}

/**
 * Removes by EXPUNGE, which removes everything that is marked as deleted (RFC 3501 section 6.4.3): messages that others
 * marked are unmarked before and marked again afterwards. Marks that they set between the last look and the EXPUNGE go
 * unnoticed; servers without UIDPLUS leave no other way. A connection that breaks meanwhile leaves messages unmarked,
 * so that none is lost.
 */
async function expungeAlone(
  connection: ImapConnection,
  effect: Effect,
  uids: readonly number[],
): Promise<number[]> {
  const ours = new Set(uids)
  const others = new Set<number>()
  const unmarkOthers = async () => {
    const marked = await searchDeleted(connection)
    const found = [...marked].filter(uid => !ours.has(uid))
    for (const uid of found) others.add(uid)
    if (others.size > OTHERS_MAX)
      throw new ProviderFailure('conflict', 'Too many messages of the mailbox are marked as deleted.')
    await mark(effect, found, '-FLAGS.SILENT')
    return found.length
  }
  try {
    await unmarkOthers()
    const marked = await markPresent(connection, effect, uids)
    for (let rounds = 1; (await unmarkOthers()) > 0; rounds++) {
      if (rounds < ROUNDS_MAX) continue
      await mark(effect, uids, '-FLAGS.SILENT')
      throw new ProviderFailure('conflict', 'Another client keeps marking messages as deleted.')
    }
    await effect.run({ name: 'EXPUNGE' })
    return marked
  } finally {
    if (!connection.isClosed) {
      await mark(
        effect,
        [...others].toSorted((a, b) => a - b),
        '+FLAGS.SILENT',
      )
    }
  }
}

/** Marks messages as deleted. @returns the ones that the mailbox has */
async function markPresent(
  connection: ImapConnection,
  effect: Effect,
  uids: readonly number[],
): Promise<number[]> {
  const present = new Set<number>()
  for (const { set } of uidSets(uids, UIDS_PER_CHANGE)) {
    await effect.run({
      name: 'UID STORE',
      arguments: [sequence(set), atom('+FLAGS'), [atom('\\Deleted')]],
      answers: {
        FETCH(_, [list]) {
          const fetched = readFetched(list)
          if (fetched) present.add(fetched.uid)
        },
      },
    })
  }
  // RFC 9051 section 6.4.6: a server need not report messages that a STORE did not change.
  const unreported = uids.filter(uid => !present.has(uid))
  for (const uid of unreported.length > 0 ? await searchPresent(connection, unreported) : []) present.add(uid)
  return uids.filter(uid => present.has(uid))
}

/** Marks messages as deleted, or takes the mark away. */
async function mark(
  effect: Effect,
  uids: readonly number[],
  item: '+FLAGS.SILENT' | '-FLAGS.SILENT',
): Promise<void> {
  for (const { set } of uidSets(uids, UIDS_PER_CHANGE)) {
    await effect.run({
      name: 'UID STORE',
      arguments: [sequence(set), atom(item), [atom('\\Deleted')]],
    })
  }
}
