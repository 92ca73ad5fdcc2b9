import { comparedAddress } from '../../../kit/compared-address.ts'
import type { MailboxRole } from '../../../providers/mailbox-role.ts'
import type { RemoteAddress } from '../../../providers/mail.ts'

/** Facts about an account that recording needs, read under the fence of the transaction. */
export interface MailAccount {
  id: string
  tenantId: string
  /**
   * The addresses of the account and of its identities, as `comparedAddress` writes them: mail from them is outbound.
   */
  addresses: ReadonlySet<string>
  /** Nothing is announced before the first sync is complete. */
  isInitialized: boolean
  /**
   * Whether some message may be missing from its location, so that an arrival may be a message that moved. The messages
   * of a mailbox that the interface deleted are missing.
   */
  hasMissing: boolean
  /** The number of the latest look (`beginLook`): a message found missing now was still there before it, or unknown. */
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
