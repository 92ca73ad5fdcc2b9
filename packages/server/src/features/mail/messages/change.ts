import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import type { Location } from '../../../providers/content.ts'
import type { ChangingProvider, FlagChange, MessageSet, NotFound } from '../../../providers/changing.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { MessageKey } from '../../../providers/mail.ts'
import { reachedAs, type ReachedRow } from '../../accounts/accounts/rules.ts'
import type { ChangeUnit, Commits } from '../../../calls/context.ts'
import { askForPass, noteOther } from '../at-provider.ts'
import { listPlacedMailboxes } from '../mailboxes/store.ts'
import { knownOf, listMessageLocations } from './location.ts'
import type { SummaryRow } from './present.ts'
import { lockMailAccount } from './record-account.ts'
import { recordChangedFlags, type RecordOptions } from './record-changed-flags.ts'
import type { MessageAsRead } from './changed-flags.ts'
import type { PlacedMailbox } from './rules.ts'
import { recordChangedLabels, recordMoves, recordRemovals } from './record-changes.ts'

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

/** What is to be asked of the provider for a set of messages. Null: nothing of this kind. */
export interface ProviderChange {
  flags: FlagChange | null
  /** Keys of labels. */
  labels: { add: readonly string[]; remove: readonly string[] } | null
  /** Key of the mailbox that they are moved to. */
  targetKey: string | null
}

/** @returns messages as they were recorded, by id; none where that is not known without reading them */
export type RecordWork = (
  unit: ChangeUnit,
  options: RecordOptions,
) => Promise<ReadonlyMap<string, SummaryRow>>

const NONE: ReadonlyMap<string, SummaryRow> = new Map()

/** What is needed to change messages. */
export interface ChangeContext extends Pick<Commits, 'step'> {
  db: Db
  connections: Connections
  /** Commits what the provider has carried out: at once, or before anything else of the request is committed. */
  record(work: RecordWork): Promise<void>
  /** By `performance.now()`. */
  endsAt: number
}

/** Begins the change that one request asks for. By default, what is carried out is committed at once. */
export function beginChange(
  context: Omit<ChangeContext, 'endsAt' | 'record'> & Partial<Pick<ChangeContext, 'record'>>,
): ChangeContext {
  const recordAtOnce = async (work: RecordWork) =>
    void (await context.step(unit => work(unit, { mayAssume: false })))
  return { record: recordAtOnce, ...context, endsAt: performance.now() + CHANGE_SECONDS_MAX * 1000 }
}

/** Messages with where the provider has them; those whose location is not known are left out. */
export async function locateAll(
  db: Db,
  accountId: string,
  messageIds: readonly string[],
): Promise<LocatedMessage[]> {
  const locations = await listMessageLocations(db, accountId, messageIds)
  // A message with several labels has one location for each of them, and the same key in all.
  return [...new Map(locations.map(location => [location.messageId, location])).values()].map(location => ({
    id: location.messageId,
    location,
  }))
}

/**
 * Changes messages at the provider: flags first, then labels, then the move. Each batch is recorded and announced as
 * soon as the provider has carried it out, so that a failure loses nothing of what is done. Throws `ProviderFailure`.
 * @returns ids of messages that the provider no longer has
 */
export async function changeMessages(
  context: ChangeContext,
  account: ReachedRow,
  messages: readonly LocatedMessage[],
  { flags, labels, targetKey }: ProviderChange,
): Promise<Set<string>> {
  let left = messages
  const allGone = new Set<string>()
  const change = async (run: RunSet) => {
    const gone = await changeEachSet(context, account, left, run)
    for (const id of gone) allGone.add(id)
    left = left.filter(({ id }) => !gone.has(id))
  }
  if (flags) await change((set, provider) => changeFlags(context, account, set, provider, flags))
  if (labels) await change((set, provider) => changeLabels(context, account, set, provider, labels))
  if (targetKey !== null) await change((set, provider) => move(context, account, set, provider, targetKey))
  return allGone
}

/**
 * Removes messages for good, at the provider and here. Throws `ProviderFailure`.
 * @returns ids of messages that the provider did not have where they were: perhaps another client moved them
 */
export async function removeMessages(
  context: ChangeContext,
  account: ReachedRow,
  messages: readonly LocatedMessage[],
): Promise<Set<string>> {
  return changeEachSet(context, account, messages, async function* (set, provider) {
    for await (const { removed, ...notFound } of provider.remove(set.at)) {
      await record(context, account, async (unit, mailAccount) => {
        const removals = removed.map(key => ({
          messageId: set.idOf(key),
          from: { source: set.at.source, key },
        }))
        await recordRemovals(unit, mailAccount, removals)
      })
      yield notFound
    }
  })
}

/** Messages of one source, at most `SET_MESSAGES_MAX`. */
interface ChangedSet {
  at: MessageSet
  idOf(key: MessageKey): string
  asReadOf(key: MessageKey): MessageAsRead | null
}

/** Changes one set at the provider, and records each batch. @yields keys that the change did not find, for each batch */
type RunSet = (set: ChangedSet, provider: ChangingProvider) => AsyncGenerator<NotFound>

/** Changes messages source by source, until the time of the request is over. @returns ids of those that are gone */
async function changeEachSet(
  { connections, endsAt, step }: ChangeContext,
  account: ReachedRow,
  messages: readonly LocatedMessage[],
  run: RunSet,
): Promise<Set<string>> {
  const gone = new Set<string>()
  for (const set of setsOf(messages)) {
    const left = endsAt - performance.now()
    if (left <= 0)
      throw new ProviderFailure('unavailable', 'The change takes too long. Repeat it to do the rest.')
    const work = async (provider: ChangingProvider) => {
      for await (const notFound of run(set, provider)) {
        const others = notFound.others ?? []
        for (const key of [...notFound.gone, ...others]) gone.add(set.idOf(key))
        if (others.length === 0) continue
        await step(async unit => {
          if (await noteOther(unit, account, set.at.source)) unit.wake(account.id)
        })
      }
    }
    const beginsUntil = AbortSignal.timeout(Math.ceil(left))
    await connections.use(reachedAs(account), 'changing', work, { isRepeatable: false, beginsUntil })
  }
  return gone
}

function* setsOf(messages: readonly LocatedMessage[]): Generator<ChangedSet> {
  for (const ofSource of Map.groupBy(messages, ({ location }) => location.source).values()) {
    for (let start = 0; start < ofSource.length; start += SET_MESSAGES_MAX) {
      const taken = ofSource.slice(start, start + SET_MESSAGES_MAX)
      const byKey = new Map(taken.map(message => [message.location.key, message]))
      const { source, cursor } = taken[0]!.location
      yield {
        at: {
          source,
          cursor,
          keys: [...byKey.keys()],
          known: knownOf(taken.map(({ location }) => location)),
        },
        idOf: key => byKey.get(key)!.id,
        asReadOf: key => byKey.get(key)!.asRead ?? null,
      }
    }
  }
}

async function* changeFlags(
  context: ChangeContext,
  account: ReachedRow,
  set: ChangedSet,
  provider: ChangingProvider,
  flags: FlagChange,
): AsyncGenerator<NotFound> {
  for await (const { changed, ...notFound } of provider.changeFlags(set.at, flags)) {
    const flagged = changed.map(({ key, flags: now }) => ({
      messageId: set.idOf(key),
      at: { source: set.at.source, key },
      flags: now,
      asRead: set.asReadOf(key),
    }))
    await context.record((unit, options) => recordChangedFlags(unit, account.id, flagged, options))
    yield notFound
  }
}

async function* changeLabels(
  context: ChangeContext,
  account: ReachedRow,
  set: ChangedSet,
  provider: ChangingProvider,
  labels: { add: readonly string[]; remove: readonly string[] },
): AsyncGenerator<NotFound> {
  for await (const { changed, ...notFound } of provider.changeLabels(set.at, labels)) {
    await record(context, account, async (unit, mailAccount) => {
      const placed = await placedByKey(unit, account)
      const states = changed.map(({ key, flags, mailboxKeys }) => ({
        messageId: set.idOf(key),
        at: { source: set.at.source, key },
        flags,
        mailboxes: mailboxKeys?.flatMap(mailboxKey => placed.get(mailboxKey) ?? []) ?? null,
      }))
      await recordChangedLabels(unit, mailAccount, states)
    })
    yield notFound
  }
}

async function* move(
  context: ChangeContext,
  account: ReachedRow,
  set: ChangedSet,
  provider: ChangingProvider,
  targetKey: string,
): AsyncGenerator<NotFound> {
  for await (const { moved, ...notFound } of provider.move(set.at, targetKey)) {
    await record(context, account, async (unit, mailAccount) => {
      const placed = await placedByKey(unit, account)
      const moves = moved.map(({ key, location, mailboxKeys }) => ({
        messageId: set.idOf(key),
        from: { source: set.at.source, key },
        mailboxes: mailboxKeys.flatMap(mailboxKey => placed.get(mailboxKey) ?? []),
        to: location,
      }))
      await recordMoves(unit, mailAccount, moves)
      // Only a pass finds what the provider does not locate, or has moved to a mailbox that the index lacks.
      if (moves.some(({ to, mailboxes }) => to === null || mailboxes.length === 0))
        await askForPass(unit, account)
    })
    yield notFound
  }
}

/** Commits what the provider has carried out. */
async function record(
  context: ChangeContext,
  account: ReachedRow,
  work: (unit: ChangeUnit, mailAccount: Awaited<ReturnType<typeof lockMailAccount>>) => Promise<void>,
): Promise<void> {
  await context.record(async unit => {
    await work(unit, await lockMailAccount(unit, account.id))
    return NONE
  })
}

async function placedByKey(unit: ChangeUnit, account: ReachedRow): Promise<Map<string, PlacedMailbox>> {
  const placed = await listPlacedMailboxes(unit.sql, account.id)
  return new Map(placed.map(mailbox => [mailbox.key, mailbox]))
}
