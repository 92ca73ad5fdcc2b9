import type { MailboxChange } from '@waxwing/contract/mail/mailboxes.ts'
import type { Cursor, RemoteMailbox } from '../../../providers/mail.ts'

/** The largest count that a column holds. No mailbox has as many messages, though a server may claim so. */
const COUNT_MAX = 2 ** 31 - 1

/** A mailbox as the index has it. */
export interface IndexedMailbox {
  id: string
  provider_key: string
  provider_id: string | null
  name: string
  path: string
  parent_id: string | null
  role: string
  kind: string
  source: string | null
  total_count: number | null
  unread_count: number | null
  cursor: Cursor | null
  /** The interface deleted it; its row stays until its messages are deleted. */
  is_deleted: boolean
}

export interface MailboxPlan {
  kept: Array<{ indexed: IndexedMailbox; remote: RemoteMailbox }>
  created: RemoteMailbox[]
  vanished: IndexedMailbox[]
  /** Mailboxes that the plan does not cover; none if it covers all of them. They may be parents of others. */
  others?: readonly IndexedMailbox[]
}

/**
 * Matches the provider's mailboxes with the index's: by the provider's lasting id, else by key, else by a rename of
 * which `isRenamed` is sure. A match must be the only one on both sides.
 */
export function planMailboxes(
  indexed: readonly IndexedMailbox[],
  remotes: readonly RemoteMailbox[],
  isRenamed: (remote: RemoteMailbox, cursor: Cursor) => boolean,
): MailboxPlan {
  const kept: MailboxPlan['kept'] = []
  const unmatched = new Set(indexed.filter(mailbox => !mailbox.is_deleted))
  let appeared = [...remotes]
  const match = (find: (remote: RemoteMailbox) => IndexedMailbox | undefined) => {
    appeared = appeared.filter(remote => {
      const found = find(remote)
      if (!found || !unmatched.delete(found)) return true
      kept.push({ indexed: found, remote })
      return false
    })
  }

  const byProviderId = new Map(indexed.map(mailbox => [mailbox.provider_id, mailbox]))
  match(remote => (remote.providerId === null ? undefined : byProviderId.get(remote.providerId)))
  const byKey = new Map(indexed.map(mailbox => [mailbox.provider_key, mailbox]))
  match(remote => {
    const found = byKey.get(remote.key)
    // Another lasting id under the old name: the mailbox was replaced.
    const isReplaced = found?.provider_id && remote.providerId && found.provider_id !== remote.providerId
    return isReplaced ? undefined : found
  })
  const renames = appeared.map(remote => ({
    remote,
    candidates: [...unmatched].filter(({ cursor }) => cursor !== null && isRenamed(remote, cursor)),
  }))
  const claims = Map.groupBy(
    renames.flatMap(({ candidates }) => candidates),
    candidate => candidate,
  )
  const sure = new Map(
    renames.flatMap(({ remote, candidates: [first, ...others] }) =>
      first && others.length === 0 && claims.get(first)?.length === 1 ? [[remote, first] as const] : [],
    ),
  )
  match(remote => sure.get(remote))
  return {
    kept,
    created: appeared,
    vanished: [...unmatched, ...indexed.filter(mailbox => mailbox.is_deleted)],
  }
}

/** Names of the fields that a mailbox update announces. Counts change without an event. */
export function changedMailboxFields(
  indexed: IndexedMailbox,
  next: Pick<IndexedMailbox, 'name' | 'path' | 'parent_id' | 'role' | 'kind'>,
): MailboxChange[] {
  const changed: MailboxChange[] = []
  if (indexed.name !== next.name) changed.push('name')
  if (indexed.path !== next.path) changed.push('path')
  if (indexed.parent_id !== next.parent_id) changed.push('parentId')
  if (indexed.role !== next.role) changed.push('role')
  if (indexed.kind !== next.kind) changed.push('kind')
  return changed
}

/** The columns that mirror the provider. */
export function toColumns(remote: RemoteMailbox) {
  return {
    provider_key: remote.key,
    provider_id: remote.providerId,
    name: remote.name,
    path: remote.path,
    role: remote.role,
    kind: remote.kind,
    source: remote.source,
    total_count: toCount(remote.totalCount),
    unread_count: toCount(remote.unreadCount),
  }
}

function toCount(count: number | null): number | null {
  return count === null || count > COUNT_MAX ? null : count
}

/** @param ids of mailboxes by key */
export function parentIdOf(remote: RemoteMailbox, ids: ReadonlyMap<string, string>): string | null {
  return remote.parentKey === null ? null : (ids.get(remote.parentKey) ?? null)
}

/** Whether columns differ that change without an event. */
export function rowDiffers(indexed: IndexedMailbox, next: ReturnType<typeof toColumns>): boolean {
  return (
    indexed.provider_key !== next.provider_key ||
    indexed.provider_id !== next.provider_id ||
    indexed.source !== next.source ||
    indexed.total_count !== next.total_count ||
    indexed.unread_count !== next.unread_count
  )
}

/** Whether every mailbox of the index equals the provider's, so that there is nothing to record. */
export function isSettled({ kept, created, vanished }: MailboxPlan): boolean {
  if (created.length > 0 || vanished.length > 0) return false
  const ids = new Map(kept.map(({ indexed, remote }) => [remote.key, indexed.id]))
  return kept.every(({ indexed, remote }) => {
    const next = { ...toColumns(remote), parent_id: parentIdOf(remote, ids) }
    return !rowDiffers(indexed, next) && changedMailboxFields(indexed, next).length === 0
  })
}
