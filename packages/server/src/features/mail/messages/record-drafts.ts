import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { toRow } from './message-row.ts'
import { recordChangedKeys } from './record-changed-keys.ts'
import { addedTo, announceRewritten, lasting, removedFrom } from './record-changes.ts'
import { countContents } from './record-content-version.ts'
import { type HeldMessage, lockHeldById } from './record-known.ts'
import {
  type FormerLocation,
  type KeylessMessage,
  type NewLocation,
  placeAll,
} from './record-new-locations.ts'
import type { MailAccount, PlacedMailbox } from './rules.ts'

/** A draft, and the content that it has now. */
export interface NewContent {
  messageId: string
  message: KeylessMessage
  mailboxes: readonly PlacedMailbox[]
}

/**
 * Records that a draft has other content under another key; it keeps its id and its thread. Records that the sync has
 * made of this content, or of a later one, stay. A draft whose mailbox was deleted in the meantime stays as it was: the
 * sync finds its location, or finds it gone.
 */
export async function recordReplaced(
  unit: UnitOfWork,
  account: MailAccount,
  replaced: NewContent & { from: FormerLocation | null; to: NewLocation | null },
): Promise<void> {
  const { messageId, from, message, mailboxes, to } = replaced
  const row = (await lockHeldById(unit, account, [messageId])).get(messageId)
  if (row && mailboxes.length > 0 && isReplaceable(row, replaced)) {
    const { identity } = message
    const locations = await placeAll(unit, account, [{ id: messageId, identity, mailboxes, to }])
    const next = toRow(account, { ...message, key: null }, mailboxes, message.threadId ?? row.thread_id)
    await announceRewritten(unit, account, [lasting(row, next, locations.get(messageId) ?? 'awaited')])
    await countContents(unit, [messageId])
  }
  await recordChangedKeys(unit, account.id, [...(from ? removedFrom(from, to) : []), ...addedTo(to)])
}

/**
 * Whether the new content is later than the content in the index. Content that the sync has recorded under another
 * lasting key counts as later, too: if it is not, the sync will see the new one.
 */
function isReplaceable(
  row: HeldMessage,
  { from, message: { draftMark } }: Pick<NewContent, 'message'> & { from: FormerLocation | null },
): boolean {
  const isOurs = draftMark !== null && row.draft_id === draftMark.draftId
  const isLater = isOurs && (row.draft_generation ?? 0) < draftMark.generation
  if (row.remote_id !== null) return isLater || row.remote_id === from?.key
  return !isOurs || row.uid === null || isLater
}

/** A draft that its provider lost is kept here for this time. */
export const KEPT_HOURS = 24

/**
 * Records that the provider lost a draft while its content was replaced. It has the new content now, of which the caller
 * keeps a copy in the same transaction, and the sync does not delete it while that is kept.
 * @returns false if there is no such message any more
 */
export async function recordDraftLost(
  unit: UnitOfWork,
  account: MailAccount,
  { messageId, message, mailboxes, from }: NewContent & { from: FormerLocation | null },
): Promise<boolean> {
  const row = (await lockHeldById(unit, account, [messageId])).get(messageId)
  if (!row) return false
  const next = toRow(account, { ...message, key: null }, mailboxes, row.thread_id)
  await announceRewritten(unit, account, [{ held: row, next, location: 'awaited' }])
  await countContents(unit, [messageId])
  // Missing, not awaited: no source is to be read again for it.
  await sql`
    update message set missing_look = 0, kept_until = clock_timestamp() + make_interval(hours => ${KEPT_HOURS})
    where id = ${messageId}
  `.execute(unit.sql)
  if (from) await recordChangedKeys(unit, account.id, removedFrom(from, null))
  return true
}
