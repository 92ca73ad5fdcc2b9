import type { ChangedBatch, ChangedMessage, FlagChange, MessageSet } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { MessageKey } from '../../mail.ts'
import { uidSets } from '../compare.ts'
import type { CommandArguments } from '../command.ts'
import { UIDS_PER_CHANGE } from '../expected-answers.ts'
import { fetchItems } from '../fetch.ts'
import type { TrackedMailboxes } from '../follow.ts'
import type { Selected } from '../open-mailbox.ts'
import { categoryOf, keywordOf, readFetched, type FetchedMessage } from '../translate.ts'
import { changingInBatches, type Effect } from './effect.ts'
import { isKept, openSource, uidsOf } from './open-source.ts'
import { requireReadable, withoutOthers } from './without-others.ts'

const atom = (value: string) => ({ type: 'ATOM', value })
const sequence = (value: string) => ({ type: 'SEQUENCE', value })

/** `ChangingProvider.changeFlags` on IMAP: flags are added and removed singly, never replaced. */
export function changeFlags(
  tracked: TrackedMailboxes,
  at: MessageSet,
  change: FlagChange,
): AsyncGenerator<ChangedBatch, void, void> {
  return changingInBatches(tracked.connection, async function* (effect) {
    const isSuspect = [...(at.known?.values() ?? [])].some(known => known.isSuspect)
    const { opened, wasOpen } = await openSource(tracked, at, { isFresh: isSuspect })
    const stores = planStores(change, opened)
    const { uids, others, unreadableCount } = await withoutOthers(tracked, at, uidsOf(at.keys), {
      isExact: false,
    })
    if (others.length > 0) yield { changed: [], gone: [], others }
    const kept: Kept = { count: 0, isContested: false }
    for (const { from, to } of uidSets(uids, UIDS_PER_CHANGE)) {
      const set = { uids: uids.slice(from, to), wasOpen }
      yield await storeSet(tracked, effect, { stores, change }, set, kept)
    }
    requireChanged(kept)
    requireReadable(unreadableCount)
  })
}

/** Messages that did not change although the server claims so. */
interface Kept {
  count: number
  /** Whether another client changed one of them meanwhile. */
  isContested: boolean
}

/** One STORE: flags to add, or flags to remove. */
export interface Store {
  item: '+FLAGS' | '-FLAGS'
  flags: string[]
}

/** The STOREs of a change. Throws `unsupported` for marks that the mailbox does not keep. */
export function planStores(change: FlagChange, opened: Selected): Store[] {
  const added = (change.addCategories ?? []).map(keywordOf)
  const removed = (change.removeCategories ?? []).flatMap(category => keywordsOf(category, opened))
  for (const [is, flag] of [
    [change.isRead, '\\Seen'],
    [change.isFlagged, '\\Flagged'],
  ] as const) {
    if (is !== undefined) (is ? added : removed).push(flag)
  }
  if (!added.every(flag => isKept(opened, flag)))
    throw new ProviderFailure('unsupported', 'The server does not keep such a mark in this mailbox.')
  if (change.isAnswered && isKept(opened, '\\Answered')) added.push('\\Answered')
  if (change.isForwarded && isKept(opened, '$Forwarded')) added.push('$Forwarded')
  const stores: Store[] = [
    { item: '+FLAGS', flags: added },
    { item: '-FLAGS', flags: removed },
  ]
  return stores.filter(({ flags }) => flags.length > 0)
}

/** The keywords that show as this category: other clients may spell one in another way. */
function keywordsOf(category: string, { flags }: Selected): string[] {
  const spelt = flags.filter(flag => !flag.startsWith('\\') && categoryOf(flag) === category)
  return [...new Set([keywordOf(category), ...spelt])]
}

async function storeSet(
  { connection }: TrackedMailboxes,
  effect: Effect,
  { stores, change }: { stores: readonly Store[]; change: FlagChange },
  { uids, wasOpen }: { uids: readonly number[]; wasOpen: boolean },
  kept: Kept,
): Promise<ChangedBatch> {
  const seen = new Map<number, ChangedMessage>()
  await storeAll(effect, stores, uids, seen)
  if (wasOpen && missing(uids, seen).length > 0) {
    // The server may not have reported these messages to this session yet (RFC 9051 section 7.4.1).
    await connection.run({ name: 'NOOP' })
    await storeAll(effect, stores, missing(uids, seen), seen)
  }
  // RFC 9051 section 6.4.6: a server need not report messages that a STORE did not change.
  await askFlags(connection, missing(uids, seen), seen)
  const again = uids.filter(uid => !isAsWanted(seen.get(uid), change))
  if (again.length > 0) {
    // Another client may have changed these at the same moment, or the server showed their former flags.
    const before = new Map(seen)
    for (const uid of again) seen.delete(uid)
    await connection.run({ name: 'NOOP' })
    await storeAll(effect, stores, again, seen)
    await askFlags(connection, again, seen)
    for (const uid of again) {
      if (isAsWanted(seen.get(uid), change)) continue
      kept.count += 1
      kept.isContested ||= isOtherRevision(before.get(uid), seen.get(uid))
    }
  }
  return {
    changed: uids.flatMap(uid => seen.get(uid) ?? []),
    gone: missing(uids, seen),
  }
}

async function askFlags(
  connection: TrackedMailboxes['connection'],
  uids: readonly number[],
  seen: Map<number, ChangedMessage>,
): Promise<void> {
  const items = ['UID', 'FLAGS', ...(connection.selected?.highestModseq ? ['MODSEQ'] : [])].map(atom)
  const refusal = await fetchItems(connection, uids, items, fetched => take(fetched, seen))
  if (refusal) throw refusal
}

/** Whether a message has the flags that a change sets. A message that is gone needs none. */
function isAsWanted(message: ChangedMessage | undefined, { isRead, isFlagged }: FlagChange): boolean {
  if (!message) return true
  const { flags } = message
  return flags.isRead === (isRead ?? flags.isRead) && flags.isFlagged === (isFlagged ?? flags.isFlagged)
}

function isOtherRevision(before: ChangedMessage | undefined, after: ChangedMessage | undefined): boolean {
  return Boolean(before?.revision && after?.revision && before.revision !== after.revision)
}

function requireChanged({ count, isContested }: Kept): void {
  if (count === 0) return
  throw isContested
    ? new ProviderFailure('conflict', `Another client keeps changing ${count} of the messages.`)
    : new ProviderFailure('rejected', `The server keeps ${count} of the messages as they were.`)
}

function missing(uids: readonly number[], seen: ReadonlyMap<MessageKey, unknown>): number[] {
  return uids.filter(uid => !seen.has(uid))
}

/** Runs the STOREs, and notes the messages as they are after the last of them. */
async function storeAll(
  effect: Effect,
  stores: readonly Store[],
  uids: readonly number[],
  seen: Map<number, ChangedMessage>,
): Promise<void> {
  const wanted = new Set(uids)
  for (const { set } of uidSets(uids, UIDS_PER_CHANGE)) {
    for (const [at, { item, flags }] of stores.entries()) {
      const isLast = at === stores.length - 1
      await effect.run({
        name: 'UID STORE',
        arguments: [sequence(set), atom(item), flags.map(atom)] satisfies CommandArguments,
        answers: {
          FETCH(_, [list]) {
            const fetched = readFetched(list)
            if (isLast && fetched && wanted.has(fetched.uid)) take(fetched, seen)
          },
        },
      })
    }
  }
}

function take({ uid, flags, modseq }: FetchedMessage, seen: Map<number, ChangedMessage>): void {
  if (flags) seen.set(uid, { key: uid, flags, mailboxKeys: null, revision: modseq })
}
