import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { RemoteMailbox } from '../../../providers/mail.ts'
import type { MailAccount } from '../messages/rules.ts'
import { type MailboxRow, mailboxColumns } from './present.ts'
import { announceDeletedMailbox, recordMailboxes, stopFollowing } from './record.ts'
import type { IndexedMailbox } from './rules.ts'
import { listIndexedMailboxes } from './store.ts'

// Changes that the interface made at the provider are recorded here, in one transaction under `lockMailAccount`.
// Records of the sync from the meantime stay, and the provider's next list settles them.

/** Stands in a key for a mailbox that was deleted, so that another one may have its name. */
const DELETED = '\u0001deleted '

/** Records a mailbox that was created, and announces it, unless the sync was faster. @returns its id */
export async function recordCreatedMailbox(
  unit: UnitOfWork,
  account: MailAccount,
  mailbox: RemoteMailbox,
): Promise<string> {
  const others = await listIndexedMailboxes(unit.sql, account.id)
  const isSame = ({ provider_key }: IndexedMailbox) => provider_key === mailbox.key
  const known = others.find(isSame)
  const plan = known
    ? { kept: [{ indexed: known, remote: mailbox }], created: [] }
    : { kept: [], created: [mailbox] }
  await recordMailboxes(unit, account, { ...plan, vanished: [], others })
  return (await listIndexedMailboxes(unit.sql, account.id)).find(isSame)!.id
}

export interface MailboxRenaming {
  mailboxId: string
  /** The key that the provider was given. */
  formerKey: string
  mailbox: RemoteMailbox
}

/**
 * Records mailboxes whose name or parent changed, parents before children, and announces the ones that differ. A
 * mailbox that has neither its former key nor the new one was renamed by another client again, and is left alone.
 */
export async function recordRenamedMailboxes(
  unit: UnitOfWork,
  account: MailAccount,
  renamings: readonly MailboxRenaming[],
): Promise<void> {
  if (renamings.length === 0) return
  const indexed = await listIndexedMailboxes(unit.sql, account.id)
  const byId = new Map(indexed.map(mailbox => [mailbox.id, mailbox]))
  const kept = renamings.flatMap(({ mailboxId, formerKey, mailbox }) => {
    const held = byId.get(mailboxId)
    const isAsKnown = held && (held.provider_key === formerKey || held.provider_key === mailbox.key)
    // Counts come from the last list.
    const { total_count: totalCount = null, unread_count: unreadCount = null } = held ?? {}
    return isAsKnown ? [{ indexed: held, remote: { ...mailbox, totalCount, unreadCount } }] : []
  })
  const renamed = new Set(kept.map(one => one.indexed.id))
  const others = indexed.filter(({ id }) => !renamed.has(id))
  const taken = new Map(others.map(mailbox => [mailbox.provider_key, mailbox]))
  // A sync that saw the new names first, and could not recognise the mailboxes, has created new rows for them.
  if (kept.some(({ remote }) => taken.has(remote.key))) return
  await recordMailboxes(unit, account, { kept, created: [], vanished: [], others })
}

/**
 * Records that a mailbox was deleted, and announces it. Its row and its messages, however many, stay until the next pass
 * of the sync has seen whether they are anywhere else.
 */
export async function recordDeletedMailbox(
  unit: UnitOfWork,
  account: MailAccount,
  mailboxId: string,
): Promise<void> {
  const indexed = await listIndexedMailboxes(unit.sql, account.id)
  const deleted = indexed.filter(({ id, is_deleted }) => id === mailboxId && !is_deleted)
  if (deleted.length === 0) return
  await stopFollowing(unit, account, deleted)
  const { rows } = await sql<MailboxRow>`
    update mailbox set is_deleted = true, provider_key = ${DELETED} || id, provider_id = null
    where id = ${mailboxId} and account_id = ${account.id} returning ${mailboxColumns}
  `.execute(unit.sql)
  for (const row of account.isInitialized ? rows : []) announceDeletedMailbox(unit, account, row)
}
