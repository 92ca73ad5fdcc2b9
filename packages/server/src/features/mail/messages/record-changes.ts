import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { RemoteFlags } from '../../../providers/mail.ts'
import { announceUpdated } from './announce.ts'
import { recordDeletions } from './record-deletions.ts'
import { toState } from './message-row.ts'
import { recordArrivals } from './record-arrivals.ts'
import { recordChangedKeys } from './record-changed-keys.ts'
import { type HeldMessage, lockHeldById, type Rewriting, rewriteHeld, rowOf } from './record-known.ts'
import {
  type Added,
  findAdded,
  findHolder,
  type FormerLocation,
  type NewLocation,
  placeAll,
  recordValid,
} from './record-new-locations.ts'
import type { MailAccount, PlacedMailbox } from './rules.ts'

// Changes that the interface made at the provider are recorded here, in one transaction under `lockMailAccount`.
// Records of the sync from the meantime stay: it may have seen later states than the provider's answer describes.

export interface ChangedLabels {
  messageId: string
  at: FormerLocation
  /** All flags as they are now; null: as they were. */
  flags: RemoteFlags | null
  /** All mailboxes that it is in now; null if they did not change. */
  mailboxes: readonly PlacedMailbox[] | null
}

/** Records labels as the provider has them after a change, wherever the messages are now. */
export async function recordChangedLabels(
  unit: UnitOfWork,
  account: MailAccount,
  changes: readonly ChangedLabels[],
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
  /** Null if the provider does not report it: a sync finds the message in its mailbox, and it keeps its id. */
  to: NewLocation | null
}

/**
 * Records messages that were moved, under the same ids. A message that the sync has found elsewhere in the meantime
 * stays there. A message whose new mailbox is unknown, because it was renamed or deleted in the meantime, stays where
 * it was: the sync finds the message, or finds it gone.
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
    return row && move.mailboxes.length > 0 && isStillAt(row, move.from) ? [{ move, row }] : []
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
 * Deletes messages that were removed at the provider. A message that the sync has found elsewhere in the meantime
 * stays. `from` is null if its location was unknown.
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
  await recordDeletions(unit, account, ids)
  await recordChangedKeys(
    unit,
    account.id,
    removals.flatMap(({ from }) => (from ? { ...from, isRemoved: true } : [])),
  )
}

/**
 * Records a message that was added, such as a draft or the copy of a sent message. If the sync was faster, its message is
 * the one. Without a mailbox, because that was deleted in the meantime, it is missing. @returns its id
 */
export async function recordAdded(
  unit: UnitOfWork,
  account: MailAccount,
  added: Added & { to: NewLocation | null },
): Promise<string> {
  const { message, mailboxes, to } = added
  const [valid = null] = to ? await recordValid(unit, account, [to]) : []
  const holder = valid && (await findHolder(unit, account, added, valid))
  // A number of another message was a mistake of the server: the sync finds where the added one is.
  const isFree =
    !holder || typeof valid.key === 'string' || holder.internet_message_id === message.internetMessageId
  const location = isFree ? valid : null
  await recordChangedKeys(unit, account.id, addedTo(location))
  const known = location ? (holder?.id ?? null) : await findAdded(unit, added)
  if (known !== null) return known
  const arrival = { message: { ...message, key: location?.key ?? null }, mailboxes }
  const { ids } = await recordArrivals(unit, account, [arrival], true)
  return ids[0]!
}

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
function isStillAt(row: HeldMessage, { source, key }: FormerLocation): boolean {
  if (typeof key === 'string') return row.remote_id === key
  return row.remote_id === null && (row.uid === null || (row.uid === key && row.source === source))
}

/** A number is gone from its source; a lasting id may be the same in another one. */
export function removedFrom({ source, key }: FormerLocation, to: FormerLocation | null) {
  return [{ source, key, isRemoved: typeof key === 'number' || key !== to?.key }]
}

export function addedTo(to: FormerLocation | null) {
  return to ? [{ source: to.source, key: to.key, isAdded: typeof to.key === 'number' }] : []
}

/** Rewrites messages, and announces the ones that differ. */
export async function announceRewritten(
  unit: UnitOfWork,
  account: MailAccount,
  rewritings: readonly Rewriting[],
): Promise<void> {
  const changes = await rewriteHeld(unit, account, rewritings)
  if (account.isInitialized) await announceUpdated(unit, account, changes)
}
