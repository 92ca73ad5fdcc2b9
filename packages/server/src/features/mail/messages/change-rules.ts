import type { FlagChange } from '../../../providers/changing.ts'
import { refuse } from '../../refuse.ts'
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

/**
 * What is to be asked of the provider. A message that is in `mailboxId` alone is not moved. Refuses mailboxes that
 * cannot be used so.
 * @param mailboxes those that the change names, by id
 */
export function planChange(
  message: { mailbox_ids: readonly string[] },
  asked: AskedChange,
  mailboxes: ReadonlyMap<string, ProviderMailbox>,
): ProviderChange {
  const { isRead, isFlagged, mailboxId, addMailboxIds = [], removeMailboxIds = [] } = asked
  const named = [...addMailboxIds, ...removeMailboxIds].map(id => mailboxes.get(id)!)
  if (named.some(({ kind }) => kind !== 'label')) refuse('mailbox_not_label')
  const target = mailboxId === undefined ? null : mailboxes.get(mailboxId)!
  if (target && target.source === null)
    refuse('provider_rejected', undefined, { message: 'The mailbox cannot hold messages.' })

  const flags: FlagChange = {
    ...(isRead !== undefined && { isRead }),
    ...(isFlagged !== undefined && { isFlagged }),
  }
  const isThere = message.mailbox_ids.length === 1 && message.mailbox_ids[0] === mailboxId
  return {
    flags: Object.keys(flags).length > 0 ? flags : null,
    labels:
      named.length > 0
        ? { add: keysOf(addMailboxIds, mailboxes), remove: keysOf(removeMailboxIds, mailboxes) }
        : null,
    targetKey: target && !isThere ? target.provider_key : null,
  }
}

function keysOf(ids: readonly string[], mailboxes: ReadonlyMap<string, ProviderMailbox>): string[] {
  return [...new Set(ids)].map(id => mailboxes.get(id)!.provider_key)
}

export function changesNothing({ flags, labels, targetKey }: ProviderChange): boolean {
  return flags === null && labels === null && targetKey === null
}
