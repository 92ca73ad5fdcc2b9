import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { SettledDraft } from '../../../providers/changing.ts'
import type { RemoteMessage } from '../../../providers/mail.ts'
import { listPlacedMailboxes } from '../mailboxes/store.ts'
import { remoteIdsOf } from './location.ts'
import { findLockedMailAccount } from './record-account.ts'
import { recordArrivals } from './record-arrivals.ts'
import { recordChangedKeys } from './record-changed-keys.ts'
import { recordReplaced } from './record-drafts.ts'
import { type SettleDraft, settleDraftJob } from './record-new-contents.ts'
import type { FormerLocation, NewLocation } from './record-new-locations.ts'
import type { PlacedMailbox } from './rules.ts'

/** Contents of a draft that are read at once. */
const READ_MAX = 20

type Of = Pick<SettleDraft, 'accountId' | 'mailboxId' | 'draftId'> & { tenantId: string }

/** The contents of a settled draft that the index lacks, as the provider has them. */
export interface SettledContents {
  /** The kept content, which the draft has instead of one that is gone. */
  restored: { messageId: string; from: FormerLocation; message: RemoteMessage; to: NewLocation } | null
  /** The location of a kept content that belongs to no draft of the index. */
  unknown: FormerLocation | null
  /** Contents that another client has changed or moved, which are messages of their own. */
  own: RemoteMessage[]
}

/**
 * Reads the contents that the index lacks, now that the draft is settled. Null if there are none. Only a provider where
 * keys last has such.
 */
export async function readSettled(
  db: Db,
  of: Of,
  { kept, left = [] }: SettledDraft,
  read: (key: string) => Promise<RemoteMessage | null>,
): Promise<SettledContents | null> {
  const others = await listOtherSettlings(db, of)
  const ofThisJob = left.filter(({ source }) => !others.has(source))
  const keys = remoteIdsOf([...(kept ? [kept.location] : []), ...ofThisJob].map(({ key }) => key))
  const lacking = await withoutIndexed(db, of.accountId, keys)
  if (lacking.length === 0) return null
  const isKept = (key: string) => key === kept?.location.key
  const own = await readAll(lacking.filter(key => !isKept(key)).slice(0, READ_MAX), read)
  const keptKey = lacking.find(isKept)
  if (!kept || keptKey === undefined) return { restored: null, unknown: null, own }
  const held = await findDraft(db, of)
  if (!held) return { restored: null, unknown: kept.location, own }
  const content = await readAll([keptKey], read)
  // The draft has a content of its own, which was not found, such as one that has another Message-ID by now.
  if (await isThere(db, of, await read(held.key)))
    return { restored: null, unknown: null, own: [...own, ...content] }
  const { id: messageId, ...from } = held
  const [message] = content
  return { restored: message ? { messageId, from, message, to: kept.location } : null, unknown: null, own }
}

async function readAll(
  keys: readonly string[],
  read: (key: string) => Promise<RemoteMessage | null>,
): Promise<RemoteMessage[]> {
  return (await Promise.all(keys.map(read))).flatMap(message => message ?? [])
}

/** Whether a message is in a mailbox of the index, and not where only deleted ones are. */
async function isThere(db: Db, { accountId }: Of, message: RemoteMessage | null): Promise<boolean> {
  if (!message) return false
  return placedIn(await listPlacedMailboxes(db, accountId), message).length > 0
}

function placedIn(placed: readonly PlacedMailbox[], { mailboxKeys }: RemoteMessage): PlacedMailbox[] {
  return placed.filter(({ key }) => mailboxKeys.includes(key))
}

/**
 * The draft as the index has it, under a lasting key; null if it has none. Copies that other clients made have at most its
 * generation.
 */
export async function findDraft(
  db: Db,
  { accountId, draftId }: Pick<Of, 'accountId' | 'draftId'>,
): Promise<{ id: string; source: string; key: string } | null> {
  const { rows } = await sql<{ id: string; source: string; key: string }>`
    select message.id, mailbox.source, remote_id as key from message
    join message_mailbox as held on held.message_id = message.id join mailbox on mailbox.id = held.mailbox_id
    where message.account_id = ${accountId} and draft_id = ${draftId} and remote_id is not null and is_draft
      and mailbox.source is not null
    order by draft_generation desc, message.id limit 1
  `.execute(db)
  return rows[0] ?? null
}

/** The keys of other mailboxes in which a job is about to settle the draft. */
async function listOtherSettlings(
  db: Db,
  { tenantId, accountId, mailboxId, draftId }: Of,
): Promise<Set<string>> {
  const { rows } = await sql<{ key: string }>`
    select provider_key as key from job join mailbox on mailbox.id = (payload ->> 'mailboxId')::uuid
    where job.tenant_id = ${tenantId} and job.kind = ${settleDraftJob.name} and payload ->> 'draftId' = ${draftId}
      and mailbox.account_id = ${accountId} and mailbox.id <> ${mailboxId}
  `.execute(db)
  return new Set(rows.map(({ key }) => key))
}

/** The keys that the index lacks. */
async function withoutIndexed(db: Db, accountId: string, remoteIds: readonly string[]): Promise<string[]> {
  if (remoteIds.length === 0) return []
  const { rows } = await sql<{ key: string }>`
    select key from unnest(${remoteIds}::text[]) as given (key)
    where not exists (select from message where account_id = ${accountId} and remote_id = key)
  `.execute(db)
  return rows.map(({ key }) => key)
}

/** Records the contents of a settled draft that the index lacks. */
export async function recordSettled(
  unit: UnitOfWork,
  accountId: string,
  { restored, unknown, own }: SettledContents,
): Promise<void> {
  const account = await findLockedMailAccount(unit, accountId)
  if (!account) return
  const placed = await listPlacedMailboxes(unit.sql, accountId)
  if (restored) {
    const mailboxes = placedIn(placed, restored.message)
    await recordReplaced(unit, account, { ...restored, mailboxes })
  }
  if (unknown) await recordChangedKeys(unit, accountId, [unknown])
  const arrivals = own.flatMap(message => {
    const mailboxes = placedIn(placed, message)
    // The mark would make it a content of the draft.
    return mailboxes.length === 0 ? [] : [{ message: { ...message, draftMark: null }, mailboxes }]
  })
  if (arrivals.length > 0) await recordArrivals(unit, account, arrivals, true)
}
