import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import type { Location } from '../../../providers/content.ts'
import type { ChangingProvider, FlagChange, MessageSet, NotFound } from '../../../providers/changing.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { MessageKey } from '../../../providers/mail.ts'
import { reachedAs, type ReachedRow } from '../../../accounts/reach.ts'
import type { ChangeUnit, Commits } from '../../../calls/context.ts'
import { noteOther, refuseFailed } from '../at-provider.ts'
import { knownOf, listMessageLocations } from './location.ts'
import type { MessageAsRead } from './record-changed-flags.ts'
import type { SummaryRow } from './present.ts'
import { settleRemoved } from './settle-removed.ts'
import { type CarriedOut, recordCarriedOut } from './record-carried-out.ts'

/** A change that goes on for longer is answered with what is done by then; repeating it does the rest. */
const CHANGE_SECONDS_MAX = 60
/** Messages that are changed before others may use the connection. */
const SET_MESSAGES_MAX = 250

/** A message of the index, and where the provider has it. */
export interface LocatedMessage {
  id: string
  location: Location
  asRead?: MessageAsRead | null
}

/** What is to be asked of the provider for a set of messages. Mailboxes have the provider's keys. */
export type ProviderChange =
  | { kind: 'flags'; flags: FlagChange }
  | { kind: 'labels'; add: readonly string[]; remove: readonly string[] }
  | { kind: 'move'; targetKey: string }
  | { kind: 'removal' }

/** The change of messages that one request asks for. */
export interface Changing extends Pick<Commits, 'step'> {
  db: Db
  connections: Connections
  account: ReachedRow
  /** By `performance.now()`. */
  endsAt: number
  /**
   * The batches that the provider has carried out and that are not recorded yet. The last one is recorded in the commit
   * that makes the answer, or earlier if another batch or a refusal follows.
   */
  carriedOut: CarriedOut[]
}

export function beginChange(
  context: Pick<Changing, 'db' | 'step'>,
  connections: Connections,
  account: ReachedRow,
): Changing {
  const { db, step } = context
  const endsAt = performance.now() + CHANGE_SECONDS_MAX * 1000
  return { db, step, connections, account, endsAt, carriedOut: [] }
}

/** Commits the batches that the provider has carried out, but for the last `kept`. A batch stays until it is committed. */
export async function recordSoFar({ step, account, carriedOut }: Changing, kept = 0): Promise<void> {
  while (carriedOut.length > kept) {
    const [batch] = carriedOut
    await step(unit => recordCarriedOut(unit, account, [batch!]))
    carriedOut.shift()
  }
}

/**
 * Makes the answer of a change, in the commit that records the last batch. A refusal undoes that commit, so the batch is
 * then recorded by one of its own.
 */
export async function finishChange<T>(
  context: Pick<Commits, 'change'>,
  changing: Changing,
  answer: (unit: ChangeUnit, recorded: ReadonlyMap<string, SummaryRow>) => Promise<T>,
  options?: Parameters<Commits['change']>[1],
): Promise<T> {
  const { account, carriedOut } = changing
  try {
    return await context.change(
      async unit => answer(unit, await recordCarriedOut(unit, account, carriedOut)),
      options,
    )
  } catch (error) {
    await recordSoFar(changing)
    throw error
  }
}

/** Messages with where the provider has them; those whose location is not known are left out. */
export async function locateAll(
  db: Db,
  accountId: string,
  messageIds: readonly string[],
): Promise<LocatedMessage[]> {
  if (messageIds.length === 0) return []
  const locations = await listMessageLocations(db, accountId, messageIds)
  // A message with several labels has one location for each of them, and the same key in all.
  return [...new Map(locations.map(location => [location.messageId, location])).values()].map(location => ({
    id: location.messageId,
    location,
  }))
}

/**
 * Changes messages at the provider, one change after the other. Refuses what fails there.
 * @returns ids of messages that the provider no longer has where they were: perhaps another client moved them
 */
export async function changeMessages(
  changing: Changing,
  messages: readonly LocatedMessage[],
  changes: readonly ProviderChange[],
): Promise<Set<string>> {
  const gone = new Set<string>()
  try {
    for (const change of changes) {
      await recordSoFar(changing)
      const left = messages.filter(({ id }) => !gone.has(id))
      for (const set of setsOf(left)) for (const id of await changeSet(changing, set, change)) gone.add(id)
    }
  } catch (error) {
    try {
      await recordSoFar(changing)
    } finally {
      await refuseFailed(changing, changing.account, error)
    }
  }
  return gone
}

/** Messages of one source by their keys, at most `SET_MESSAGES_MAX`. */
interface ChangedSet {
  at: MessageSet
  byKey: ReadonlyMap<MessageKey, LocatedMessage>
}

function* setsOf(messages: readonly LocatedMessage[]): Generator<ChangedSet> {
  for (const ofSource of Map.groupBy(messages, ({ location }) => location.source).values()) {
    for (let start = 0; start < ofSource.length; start += SET_MESSAGES_MAX) {
      const taken = ofSource.slice(start, start + SET_MESSAGES_MAX)
      const byKey = new Map(taken.map(message => [message.location.key, message]))
      const { source, cursor } = taken[0]!.location
      const known = knownOf(taken.map(({ location }) => location))
      yield { at: { source, cursor, keys: [...byKey.keys()], known }, byKey }
    }
  }
}

/** Makes one change of one set, if the time of the request is not over. @returns ids of messages that are gone */
async function changeSet(
  changing: Changing,
  set: ChangedSet,
  change: ProviderChange,
): Promise<readonly string[]> {
  const { connections, account, endsAt, step } = changing
  const left = endsAt - performance.now()
  if (left <= 0)
    throw new ProviderFailure('unavailable', 'The change takes too long. Repeat it to do the rest.')
  const gone: string[] = []
  const work = async (provider: ChangingProvider) => {
    const ids = [...set.byKey.values()].map(({ id }) => id)
    if (change.kind === 'removal') await settleRemoved(changing.db, account.id, provider, ids)
    for await (const { carriedOut, notFound } of carryOut(provider, set, change)) {
      if (carriedOut.messages.length > 0) {
        changing.carriedOut.push(carriedOut)
        await recordSoFar(changing, 1)
      }
      const { others = [] } = notFound
      gone.push(...[...notFound.gone, ...others].map(key => set.byKey.get(key)!.id))
      if (others.length === 0) continue
      await step(async unit => {
        if (await noteOther(unit, account, set.at.source)) unit.wake(account.id)
      })
    }
  }
  const beginsUntil = AbortSignal.timeout(Math.ceil(left))
  await connections.use(reachedAs(account), 'changing', work, { isRepeatable: false, beginsUntil })
  return gone
}

/** @yields what each batch has done, and what it did not find */
async function* carryOut(
  provider: ChangingProvider,
  { at, byKey }: ChangedSet,
  change: ProviderChange,
): AsyncGenerator<{ carriedOut: CarriedOut; notFound: NotFound }> {
  const { kind } = change
  const idOf = (key: MessageKey) => byKey.get(key)!.id
  const there = (key: MessageKey) => ({ source: at.source, key })
  if (kind === 'flags') {
    for await (const { changed, ...notFound } of provider.changeFlags(at, change.flags)) {
      const messages = changed.map(({ key, flags }) => {
        return { messageId: idOf(key), at: there(key), flags, asRead: byKey.get(key)?.asRead ?? null }
      })
      yield { carriedOut: { kind, messages }, notFound }
    }
  } else if (kind === 'labels') {
    for await (const { changed, ...notFound } of provider.changeLabels(at, change)) {
      const messages = changed.map(({ key, flags, mailboxKeys }) => {
        return { messageId: idOf(key), at: there(key), flags, mailboxKeys }
      })
      yield { carriedOut: { kind, messages }, notFound }
    }
  } else if (kind === 'move') {
    for await (const { moved, ...notFound } of provider.move(at, change.targetKey)) {
      const messages = moved.map(({ key, location: to, mailboxKeys }) => {
        return { messageId: idOf(key), from: there(key), to, mailboxKeys }
      })
      yield { carriedOut: { kind, messages }, notFound }
    }
  } else {
    for await (const { removed, ...notFound } of provider.remove(at)) {
      const messages = removed.map(key => ({ messageId: idOf(key), from: there(key) }))
      yield { carriedOut: { kind, messages }, notFound }
    }
  }
}
