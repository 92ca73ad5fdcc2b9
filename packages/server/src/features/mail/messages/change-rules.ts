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
 * What is to be asked of the provider. A message that is in `mailboxId` alone is not moved. Refuses mailboxes that
 * cannot be used so.
 * @param mailboxes those that the change names, by id; with labels, all of the account
 */
export function planChange(
  message: { mailbox_ids: readonly string[] },
  asked: AskedChange,
  mailboxes: ReadonlyMap<string, ProviderMailbox>,
): ProviderChange {
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
  return {
    flags: Object.keys(flags).length > 0 ? flags : null,
    labels:
      named.length > 0
        ? { add: keysOf(addMailboxIds, mailboxes), remove: keysOf(removeMailboxIds, mailboxes) }
        : null,
    targetKey: target && !isMovedTo(message.mailbox_ids, target, mailboxes) ? target.provider_key : null,
  }
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
 * What puts a message into the trash. Labels of the user stay on it, so that it has them again when it is taken out.
 * @param mailboxes all of the account
 */
export function planTrashing(trash: ProviderMailbox, mailboxes: readonly ProviderMailbox[]): ProviderChange {
  if (trash.kind === 'folder') return { flags: null, labels: null, targetKey: trash.provider_key }
  const left = mailboxes.filter(({ kind, role }) => kind === 'label' && (role === 'inbox' || role === 'junk'))
  const labels = { add: [trash.provider_key], remove: left.map(({ provider_key }) => provider_key) }
  return { flags: null, labels, targetKey: null }
}

function keysOf(ids: readonly string[], mailboxes: ReadonlyMap<string, ProviderMailbox>): string[] {
  return [...new Set(ids)].map(id => mailboxes.get(id)!.provider_key)
}

export function changesNothing({ flags, labels, targetKey }: ProviderChange): boolean {
  return flags === null && labels === null && targetKey === null
}
