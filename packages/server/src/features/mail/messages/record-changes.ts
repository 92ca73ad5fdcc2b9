import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { Cursor, MessageKey, RemoteFlags, RemoteMessage } from '../../../providers/mail.ts'
import { announceDeleted, announceUpdated } from './announce.ts'
import { keyColumns } from './keys.ts'
import { toState } from './message-row.ts'
import { recordArrivals } from './record-arrivals.ts'
import { recordChangedKeys } from './record-changed-keys.ts'
import { type HeldMessage, lockHeldById, type Rewriting, rewriteHeld, rowOf } from './record-known.ts'
import type { MailAccount, PlacedMailbox } from './rules.ts'

// What the interface has changed at the provider is recorded here, in one transaction under `lockMailAccount`. What the
// sync has recorded in the meantime stays: it may have seen more than the answer of the provider says.

/** Where a message was before the provider was asked to change it. */
export interface FormerLocation {
  source: string
  key: MessageKey
}

/** Where a message is, and in which numbering of its source that holds. */
export interface NewLocation extends FormerLocation {
  /** Whether the key is valid in the source as the index has followed it. */
  isValidUnder(cursor: Cursor | null): boolean
}

export interface ChangedState {
  messageId: string
  at: FormerLocation
  /** All flags as they are now; null: as they were. */
  flags: RemoteFlags | null
  /** All mailboxes that it is in now; null: those it was in. */
  mailboxes: readonly PlacedMailbox[] | null
}

/** Records flags and labels as the provider has them after a change, wherever the messages are now. */
export async function recordChangedStates(
  unit: UnitOfWork,
  account: MailAccount,
  changes: readonly ChangedState[],
): Promise<void> {
  const held = await lockHeldById(
    unit,
    account,
    changes.map(({ messageId }) => messageId),
  )
  const rewritings = changes.flatMap(({ messageId, flags, mailboxes }): Rewriting[] => {
    const row = held.get(messageId)
    return row ? [{ held: row, next: stateAfter(account, row, flags, mailboxes), location: null }] : []
  })
  await announceRewritten(unit, account, rewritings)
  await recordChangedKeys(
    unit,
    account.id,
    changes.map(({ at }) => at),
  )
}

export interface Move {
  messageId: string
  from: FormerLocation
  /** All mailboxes that it is in now. */
  mailboxes: readonly PlacedMailbox[]
  /** Null if the provider does not say: a sync finds the message in its mailbox, and it keeps its id. */
  to: NewLocation | null
}

/**
 * Records messages that were moved, under the same ids. One that the sync has found elsewhere in the meantime stays
 * there.
 */
export async function recordMoves(
  unit: UnitOfWork,
  account: MailAccount,
  moves: readonly Move[],
): Promise<void> {
  const held = await lockHeldById(
    unit,
    account,
    moves.map(({ messageId }) => messageId),
  )
  const there = moves.flatMap(move => {
    const row = held.get(move.messageId)
    return row && isStillAt(row, move.from) ? [{ move, row }] : []
  })
  const locations = await placeAll(
    unit,
    account,
    there.map(({ move: { messageId, mailboxes, to }, row }) => ({
      id: messageId,
      identity: row.identity,
      mailboxes,
      to,
    })),
  )
  const rewritings = there.map(({ move, row }): Rewriting => {
    const next = stateAfter(account, row, null, move.mailboxes)
    return lasting(row, next, locations.get(row.id) ?? 'awaited')
  })
  await announceRewritten(unit, account, rewritings)
  await recordChangedKeys(
    unit,
    account.id,
    moves.flatMap(({ from, to }) => [...removedFrom(from, to), ...addedTo(to)]),
  )
}

/**
 * Deletes messages that were removed at the provider. One that the sync has found elsewhere in the meantime stays.
 * `from` is null if it was not known where the message was.
 */
export async function recordRemovals(
  unit: UnitOfWork,
  account: MailAccount,
  removals: ReadonlyArray<{ messageId: string; from: FormerLocation | null }>,
): Promise<void> {
  const held = await lockHeldById(
    unit,
    account,
    removals.map(({ messageId }) => messageId),
  )
  const ids = removals.flatMap(({ messageId, from }) => {
    const row = held.get(messageId)
    return row && (from ? isStillAt(row, from) : row.uid === null) ? [messageId] : []
  })
  if (account.isInitialized) await announceDeleted(unit, account, ids)
  await sql`delete from message where id = any(${ids}::uuid[])`.execute(unit.sql)
  await recordChangedKeys(
    unit,
    account.id,
    removals.flatMap(({ from }) => (from ? { ...from, isRemoved: true } : [])),
  )
}

/** A message as the provider has it now, without its key. */
export type KeylessMessage = Omit<RemoteMessage, 'key'>

/**
 * Records a message that was added, such as a draft or the copy of a sent message. If the sync was faster, its message is
 * the one. @returns its id
 */
export async function recordAdded(
  unit: UnitOfWork,
  account: MailAccount,
  added: { message: KeylessMessage; mailboxes: readonly PlacedMailbox[]; to: NewLocation | null },
): Promise<string> {
  const { message, mailboxes, to } = added
  const [location = null] = to ? await validLocations(unit, account, [to]) : []
  await recordChangedKeys(unit, account.id, addedTo(location))
  const known = await findAdded(unit, account, added, location)
  if (known !== null) return known
  const arrival = { message: { ...message, key: location?.key ?? null }, mailboxes }
  const { ids } = await recordArrivals(unit, account, [arrival], true)
  return ids[0]!
}

/** An id that no message has. */
const NOBODY = '00000000-0000-0000-0000-000000000000'

type Located = FormerLocation | 'awaited'

export function lasting(held: HeldMessage, next: Rewriting['next'], location: Located): Rewriting {
  if (location === 'awaited') return { held, next: { ...next, remote_id: null }, location }
  const { key } = location
  if (typeof key === 'number') return { held, next: { ...next, remote_id: null }, location: { uid: key } }
  return { held, next: { ...next, remote_id: key }, location: { uid: null } }
}

function stateAfter(
  account: MailAccount,
  held: HeldMessage,
  flags: RemoteFlags | null,
  mailboxes: readonly PlacedMailbox[] | null,
): Rewriting['next'] {
  const row = rowOf(held)
  const now = flags ?? {
    isRead: row.is_read,
    isFlagged: row.is_flagged,
    isDraft: row.is_draft,
    categories: row.categories,
  }
  const state = toState(account, { ...now, from: row.from }, mailboxes ?? [])
  if (mailboxes) return { ...row, ...state }
  const { mailbox_ids, direction, is_draft } = row
  return { ...row, ...state, mailbox_ids, direction, is_draft: flags ? state.is_draft || is_draft : is_draft }
}

/** Whether the sync has not found the message anywhere else: it is where it was, or not found at all. */
function isStillAt(row: HeldMessage, { key }: FormerLocation): boolean {
  if (typeof key === 'string') return row.remote_id === key
  return row.remote_id === null && (row.uid === null || row.uid === key)
}

/** A number is gone from its source; a lasting id may be the same in another one. */
export function removedFrom({ source, key }: FormerLocation, to: FormerLocation | null) {
  return [{ source, key, isRemoved: typeof key === 'number' || key !== to?.key }]
}

export function addedTo(to: FormerLocation | null) {
  return to ? [{ source: to.source, key: to.key, isAdded: typeof to.key === 'number' }] : []
}

export interface Placing {
  id: string
  identity: string
  mailboxes: readonly PlacedMailbox[]
  to: NewLocation | null
}

/**
 * The new keys that can be stored, by message. If the sync has taken one of these messages for a new one in the meantime
 * (on servers without MOVE it is in two places for a moment), that one is deleted again.
 */
export async function placeAll(
  unit: UnitOfWork,
  account: MailAccount,
  placings: readonly Placing[],
): Promise<Map<string, FormerLocation>> {
  const valid = await validLocations(
    unit,
    account,
    placings.flatMap(({ to }) => to ?? []),
  )
  const keyed = placings.flatMap(({ to, ...placing }) => (to && valid.has(to) ? [{ ...placing, to }] : []))
  const holders = await findHolders(unit, account, keyed)
  const doubles = keyed.flatMap(({ id, identity }) => {
    const holder = holders.get(id)
    return holder?.identity === identity ? [holder.id] : []
  })
  if (doubles.length > 0) {
    if (account.isInitialized) await announceDeleted(unit, account, doubles)
    await sql`delete from message where id = any(${doubles}::uuid[])`.execute(unit.sql)
  }
  const isFree = ({ id, identity }: Placing) => (holders.get(id)?.identity ?? identity) === identity
  return new Map(keyed.filter(isFree).map(({ id, to: { source, key } }) => [id, { source, key }]))
}

/** Those whose source was not renumbered since. */
async function validLocations(
  unit: UnitOfWork,
  account: MailAccount,
  locations: readonly NewLocation[],
): Promise<Set<NewLocation>> {
  if (locations.length === 0) return new Set()
  const { rows } = await sql<{ source: string; cursor: Cursor }>`
    select source, cursor from sync_cursor
    where account_id = ${account.id} and source = any(${[...new Set(locations.map(({ source }) => source))]}::text[])
  `.execute(unit.sql)
  const cursors = new Map(rows.map(({ source, cursor }) => [source, cursor]))
  return new Set(locations.filter(location => location.isValidUnder(cursors.get(location.source) ?? null)))
}

/** Other messages that the index holds under the new keys, by the message that is to be placed. */
async function findHolders(
  unit: UnitOfWork,
  account: MailAccount,
  placings: ReadonlyArray<Placing & { to: NewLocation }>,
): Promise<Map<string, { id: string; identity: string }>> {
  const wanted = placings.flatMap(({ id, mailboxes, to }) =>
    (mailboxes.length > 0 ? mailboxes : [null]).map(mailbox => ({
      placed_id: id,
      mailbox_id: mailbox?.id ?? null,
      ...keyColumns(to.key),
    })),
  )
  if (wanted.length === 0) return new Map()
  const { rows } = await sql<{ placed_id: string; id: string; identity: string }>`
    with wanted as (
      select * from json_to_recordset(${JSON.stringify(wanted)}::json)
        as wanted (placed_id uuid, mailbox_id uuid, uid bigint, remote_id text)
    )
    select placed_id, message.id, identity from wanted
    join message_mailbox as held on held.mailbox_id = wanted.mailbox_id and held.uid = wanted.uid
    join message on message.id = held.message_id where message.id <> placed_id
    union all
    select placed_id, message.id, identity from wanted
    join message on message.account_id = ${account.id} and message.remote_id = wanted.remote_id
    where message.id <> placed_id
  `.execute(unit.sql)
  return new Map(rows.map(({ placed_id, ...holder }) => [placed_id, holder]))
}

const RECENT_MESSAGES = 100

/** The message that the sync has made of one that was added: the holder of its key, else the latest of its Message-ID. */
async function findAdded(
  unit: UnitOfWork,
  account: MailAccount,
  { message, mailboxes }: { message: KeylessMessage; mailboxes: readonly PlacedMailbox[] },
  to: NewLocation | null,
): Promise<string | null> {
  if (to) {
    const placing = { id: NOBODY, identity: message.identity, mailboxes, to }
    return (await findHolders(unit, account, [placing])).get(NOBODY)?.id ?? null
  }
  const { rows } = await sql<{ id: string }>`
    select id from (
      select message.id, internet_message_id from message_mailbox as held join message on message.id = held.message_id
      where mailbox_id = any(${mailboxes.map(({ id }) => id)}::uuid[])
      order by held.received_at desc, message.id desc limit ${RECENT_MESSAGES}
    ) as recent where internet_message_id = ${message.internetMessageId} order by id desc limit 1
  `.execute(unit.sql)
  return rows[0]?.id ?? null
}

/** Rewrites messages, and announces those that read differently then. */
export async function announceRewritten(
  unit: UnitOfWork,
  account: MailAccount,
  rewritings: readonly Rewriting[],
): Promise<void> {
  const changes = await rewriteHeld(unit, account, rewritings)
  if (account.isInitialized) await announceUpdated(unit, account, changes)
}
