import { isDeepStrictEqual } from 'node:util'
import type { MessageChange } from '@waxwing/contract/mail/messages.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { MailboxRole } from '../../../providers/mailbox-role.ts'
import type { RemoteAddress, RemoteFlags } from '../../../providers/mail.ts'

/** What recording needs to know of an account, read under the fence of the transaction. */
export interface MailAccount {
  id: string
  tenantId: string
  /** The account's address and those of its identities, as `comparedAddress` writes them: mail from them is outbound. */
  addresses: ReadonlySet<string>
  /** Nothing is announced before the first sync is complete. */
  isInitialized: boolean
  /**
   * Whether some message may be missing from where it was, so that an arrival may be one that moved. Those of a mailbox
   * that the interface deleted are.
   */
  hasMissing: boolean
  /** The number of the latest look (`beginLook`): what is found missing now was still there before it, or unknown. */
  look: number
}

/** A mailbox of ours by the provider's key. */
export interface PlacedMailbox {
  id: string
  key: string
  role: MailboxRole
}

/** A source, and the mailboxes whose messages come from it: one where keys are numbers, else any number of them. */
export interface FollowedSource {
  source: string
  mailboxes: readonly PlacedMailbox[]
}

type InRole = Pick<PlacedMailbox, 'role'>

/** @param mailboxes all that the message is in */
export function directionOf(
  account: Pick<MailAccount, 'addresses'>,
  mailboxes: readonly InRole[],
  from: RemoteAddress | null,
): 'inbound' | 'outbound' {
  if (mailboxes.some(({ role }) => role === 'sent')) return 'outbound'
  return from !== null && account.addresses.has(comparedAddress(from.address)) ? 'outbound' : 'inbound'
}

export function isDraftIn(mailboxes: readonly InRole[], isFlaggedDraft: boolean): boolean {
  return isFlaggedDraft || mailboxes.some(({ role }) => role === 'drafts')
}

/** The columns of a message that hold its flags. */
export interface FlagColumns {
  is_read: boolean
  is_flagged: boolean
  is_draft: boolean
  categories: string[]
}

/**
 * What a message reads after the provider told its flags, and which fields differ then. A message in the mailbox of
 * drafts is a draft whatever its flags are: it stays one.
 * @param told null: they are as they were
 */
export function planFlags(
  { is_read, is_flagged, is_draft, categories }: FlagColumns,
  told: RemoteFlags | null,
): { next: FlagColumns; changes: MessageChange[] } {
  if (!told) return { next: { is_read, is_flagged, is_draft, categories }, changes: [] }
  const next = {
    is_read: told.isRead,
    is_flagged: told.isFlagged,
    is_draft: is_draft || told.isDraft,
    categories: told.categories.toSorted(),
  }
  const changes: MessageChange[] = []
  if (next.is_read !== is_read) changes.push('isRead')
  if (next.is_flagged !== is_flagged) changes.push('isFlagged')
  if (next.is_draft !== is_draft) changes.push('isDraft')
  if (!isDeepStrictEqual(next.categories, categories)) changes.push('categories')
  return { next, changes }
}
