import type { FlagChange } from '../../../providers/changing.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { ProviderMailbox } from '../mailboxes/store.ts'
import type { ProviderChange } from './change.ts'

/** The body of a change of a message. */
export interface AskedChange {
  isRead?: boolean | undefined
  isFlagged?: boolean | undefined
  mailboxId?: string | undefined
  addMailboxIds?: readonly string[] | undefined
  removeMailboxIds?: readonly string[] | undefined
}

/** Roles of labels that act as folders: moving a message replaces them. */
const FOLDER_ROLES: ReadonlySet<string> = new Set(['inbox', 'trash', 'junk', 'custom'])
/** Roles of labels that the provider alone sets. */
const FIXED_ROLES: ReadonlySet<string> = new Set(['sent', 'drafts', 'all'])

/**
 * Plans the changes at the provider: flags first, then labels, then the move. A message that is in `mailboxId` alone is
 * not moved. Refuses mailboxes that do not allow the change.
 * @param mailboxes the mailboxes that the change names, by id; for an account with labels, all of its mailboxes
 */
export function planChange(
  message: { mailbox_ids: readonly string[] },
  asked: AskedChange,
  mailboxes: ReadonlyMap<string, ProviderMailbox>,
): ProviderChange[] {
  const { isRead, isFlagged, mailboxId, addMailboxIds = [], removeMailboxIds = [] } = asked
  const named = [...addMailboxIds, ...removeMailboxIds].map(id => mailboxes.get(id)!)
  if (named.some(({ kind, role }) => kind !== 'label' || FIXED_ROLES.has(role))) refuse('mailbox_not_label')
  const target = mailboxId === undefined ? null : mailboxes.get(mailboxId)!
  if (target && target.source === null)
    refuse('provider_rejected', undefined, { message: 'The mailbox cannot hold messages.' })
  if (target?.kind === 'label' && (target.role === 'sent' || target.role === 'drafts'))
    refuse('provider_rejected', undefined, {
      message: 'The provider alone decides which messages are in this mailbox.',
    })

  const flags: FlagChange = {
    ...(isRead !== undefined && { isRead }),
    ...(isFlagged !== undefined && { isFlagged }),
  }
  const changes: ProviderChange[] = []
  if (Object.keys(flags).length > 0) changes.push({ kind: 'flags', flags })
  if (named.length > 0) {
    const [add, remove] = [keysOf(addMailboxIds, mailboxes), keysOf(removeMailboxIds, mailboxes)]
    changes.push({ kind: 'labels', add, remove })
  }
  if (target && !isMovedTo(message.mailbox_ids, target, mailboxes))
    changes.push({ kind: 'move', targetKey: target.provider_key })
  return changes
}

/** Whether moving a message to a mailbox would leave it where it is. */
export function isMovedTo(
  mailboxIds: readonly string[],
  target: Pick<ProviderMailbox, 'id' | 'kind'>,
  mailboxes: ReadonlyMap<string, Pick<ProviderMailbox, 'kind' | 'role'>>,
): boolean {
  if (target.kind === 'folder') return mailboxIds.length === 1 && mailboxIds[0] === target.id
  const isFolder = (id: string) => FOLDER_ROLES.has(mailboxes.get(id)?.role ?? 'custom')
  return mailboxIds.includes(target.id) && mailboxIds.every(id => id === target.id || !isFolder(id))
}

/**
 * The change that puts a message into the trash. The user's labels stay on it, so that it still has them if it is taken
 * out.
 * @param mailboxes all mailboxes of the account
 */
export function planTrashing(trash: ProviderMailbox, mailboxes: readonly ProviderMailbox[]): ProviderChange {
  if (trash.kind === 'folder') return { kind: 'move', targetKey: trash.provider_key }
  const left = mailboxes.filter(({ kind, role }) => kind === 'label' && (role === 'inbox' || role === 'junk'))
  const remove = left.map(({ provider_key }) => provider_key)
  return { kind: 'labels', add: [trash.provider_key], remove }
}

function keysOf(ids: readonly string[], mailboxes: ReadonlyMap<string, ProviderMailbox>): string[] {
  return [...new Set(ids)].map(id => mailboxes.get(id)!.provider_key)
}
