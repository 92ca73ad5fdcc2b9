import type { ChangeUnit } from '../../../calls/context.ts'
import type { RemoteFlags } from '../../../providers/mail.ts'
import { askForPass, type SyncedAccount } from '../at-provider.ts'
import { listPlacedMailboxes } from '../mailboxes/store.ts'
import type { SummaryRow } from './present.ts'
import { lockMailAccount } from './record-account.ts'
import { type ChangedFlags, recordChangedFlags } from './record-changed-flags.ts'
import { recordChangedLabels, recordMoves, recordRemovals } from './record-changes.ts'
import type { FormerLocation, NewLocation } from './record-new-locations.ts'
import type { MailAccount } from './rules.ts'

/** A batch of one change that the provider has carried out. Mailboxes have the provider's keys. */
export type CarriedOut =
  | { kind: 'flags'; messages: readonly ChangedFlags[] }
  | { kind: 'labels'; messages: readonly Relabelled[] }
  | { kind: 'move'; messages: readonly Moved[] }
  | { kind: 'removal'; messages: readonly Removed[] }

interface Removed {
  messageId: string
  from: FormerLocation
}

interface Relabelled {
  messageId: string
  at: FormerLocation
  /** All flags as they are now; null: as they were. */
  flags: RemoteFlags | null
  /** All mailboxes that it is in now; null if they did not change. */
  mailboxKeys: readonly string[] | null
}

interface Moved extends Removed {
  /** All mailboxes that it is in now. */
  mailboxKeys: readonly string[]
  /** Null if the provider does not report it. */
  to: NewLocation | null
}

const NONE: ReadonlyMap<string, SummaryRow> = new Map()

/**
 * Records and announces the batches that the provider has carried out, one after the other.
 * @returns messages as they are now, by id, where recording the last batch shows that
 */
export async function recordCarriedOut(
  unit: ChangeUnit,
  account: SyncedAccount,
  batches: readonly CarriedOut[],
): Promise<ReadonlyMap<string, SummaryRow>> {
  let shown = NONE
  for (const batch of batches) shown = await recordBatch(unit, account, batch)
  return shown
}

async function recordBatch(
  unit: ChangeUnit,
  account: SyncedAccount,
  { kind, messages }: CarriedOut,
): Promise<ReadonlyMap<string, SummaryRow>> {
  if (messages.length === 0) return NONE
  if (kind === 'flags') return recordChangedFlags(unit, account.id, messages)
  const mailAccount = await lockMailAccount(unit, account.id)
  if (kind === 'removal') await recordRemovals(unit, mailAccount, messages)
  else if (kind === 'labels') await recordLabels(unit, mailAccount, messages)
  else if (await recordMoved(unit, mailAccount, messages)) await askForPass(unit, account)
  return NONE
}

async function recordLabels(
  unit: ChangeUnit,
  account: MailAccount,
  messages: readonly Relabelled[],
): Promise<void> {
  const placedUnder = await placing(unit, account)
  const states = messages.map(({ mailboxKeys, ...message }) => ({
    ...message,
    mailboxes: mailboxKeys && placedUnder(mailboxKeys),
  }))
  await recordChangedLabels(unit, account, states)
}

/** @returns whether only a pass finds some of them: the provider does not locate them, or the index lacks their mailbox */
async function recordMoved(
  unit: ChangeUnit,
  account: MailAccount,
  messages: readonly Moved[],
): Promise<boolean> {
  const placedUnder = await placing(unit, account)
  const moves = messages.map(({ mailboxKeys, ...message }) => ({
    ...message,
    mailboxes: placedUnder(mailboxKeys),
  }))
  await recordMoves(unit, account, moves)
  return moves.some(({ to, mailboxes }) => to === null || mailboxes.length === 0)
}

/** @returns the mailboxes that the index has under keys of the provider */
async function placing(unit: ChangeUnit, account: MailAccount) {
  const placed = await listPlacedMailboxes(unit.sql, account.id)
  const byKey = new Map(placed.map(mailbox => [mailbox.key, mailbox]))
  return (keys: readonly string[]) => keys.flatMap(key => byKey.get(key) ?? [])
}
