import type { MailboxChange } from '@waxwing/contract/mailboxes.ts'
import type { Cursor, RemoteMailbox } from '../../providers/provider.ts'

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
}

export interface MailboxPlan {
  kept: Array<{ indexed: IndexedMailbox; remote: RemoteMailbox }>
  created: RemoteMailbox[]
  vanished: IndexedMailbox[]
}

/**
 * Matches the provider's mailboxes with those of the index: by the provider's lasting id, else by key, else by what
 * `isRenamed` is sure of. A match must be the only one on both sides.
 */
export function planMailboxes(
  indexed: readonly IndexedMailbox[],
  remotes: readonly RemoteMailbox[],
  isRenamed: (remote: RemoteMailbox, cursor: Cursor) => boolean,
): MailboxPlan {
  const kept: MailboxPlan['kept'] = []
  const unmatched = new Set(indexed)
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
  return { kept, created: appeared, vanished: [...unmatched] }
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
