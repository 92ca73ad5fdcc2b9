import type { MessageSet } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { MessageKey } from '../../mail.ts'
import { uidSets } from '../compare.ts'
import type { ImapConnection } from '../connection.ts'
import { UIDS_PER_CHANGE } from '../expected-answers.ts'
import type { Following } from '../follow.ts'
import { searchDeleted, searchPresent } from '../search.ts'
import { changingInBatches, type Effect } from './effect.ts'
import { isKept, openSource, uidsOf } from './open-source.ts'

/** Without UIDPLUS, messages that other clients marked as deleted are unmarked meanwhile; at most so many. */
const OTHERS_MAX = 10_000
/** Other clients may mark more at the same time. */
const ROUNDS_MAX = 5

const atom = (value: string) => ({ type: 'ATOM', value })
const sequence = (value: string) => ({ type: 'SEQUENCE', value })

/** `ChangingProvider.remove` on IMAP. */
export function removeMessages(
  following: Following,
  at: MessageSet,
): AsyncGenerator<MessageKey[], void, void> {
  return changingInBatches(following.connection, async function* (effect) {
    await openSource(following, at)
    const uids = uidsOf(at.keys)
    for (const { from, to } of uidSets(uids, UIDS_PER_CHANGE)) {
      const batch = uids.slice(from, to)
      await removeFromOpen(following.connection, effect, batch)
      yield batch
    }
  })
}

/** Removes at most `UIDS_PER_CHANGE` messages of the open mailbox, and no others. */
export async function removeFromOpen(
  connection: ImapConnection,
  effect: Effect,
  uids: readonly number[],
): Promise<void> {
  if (connection.selected && !isKept(connection.selected, '\\Deleted'))
    throw new ProviderFailure('forbidden', 'The server does not let messages of this mailbox be removed.')
  if (uids.length === 0) return
  if (connection.has('UIDPLUS')) {
    await mark(effect, uids, '+FLAGS.SILENT')
    for (const { set } of uidSets(uids, UIDS_PER_CHANGE))
      await effect.run({ name: 'UID EXPUNGE', arguments: [sequence(set)] })
  } else {
    await expungeAlone(connection, effect, uids)
  }
  const kept = await searchPresent(connection, uids)
  if (kept.length > 0)
    throw new ProviderFailure('rejected', `The server keeps ${kept.length} of the messages.`)
}

/**
 * Removes by EXPUNGE, which removes everything that is marked as deleted (RFC 3501 section 6.4.3): what others marked is
 * unmarked before and marked again afterwards. Of what they mark in the moment between the last look and the EXPUNGE
 * nothing can be known; servers without UIDPLUS leave no other way. A connection that breaks meanwhile leaves messages
 * unmarked, so that none is lost.
 */
async function expungeAlone(
  connection: ImapConnection,
  effect: Effect,
  uids: readonly number[],
): Promise<void> {
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
    await mark(effect, uids, '+FLAGS.SILENT')
    for (let rounds = 1; (await unmarkOthers()) > 0; rounds++) {
      if (rounds < ROUNDS_MAX) continue
      await mark(effect, uids, '-FLAGS.SILENT')
      throw new ProviderFailure('conflict', 'Another client keeps marking messages as deleted.')
    }
    await effect.run({ name: 'EXPUNGE' })
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
