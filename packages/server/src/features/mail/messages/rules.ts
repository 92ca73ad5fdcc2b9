import { comparedAddress } from '../../../kit/compared-address.ts'
import type { MailboxRole } from '../../../providers/mailbox-role.ts'
import type { MessageKey, RemoteAddress } from '../../../providers/mail.ts'
import type { Arrival } from './record-arrivals.ts'

/** What recording needs to know of an account, read under the fence of the transaction. */
export interface MailAccount {
  id: string
  tenantId: string
  /** The account's address and those of its identities, as `comparedAddress` writes them: mail from them is outbound. */
  addresses: ReadonlySet<string>
  /** Nothing is announced before the first sync is complete. */
  isInitialized: boolean
  /** Whether some message is missing from where it was, so that an arrival may be one that moved. */
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

/** A row whose place at the provider is unknown, as locked in the transaction. */
export interface UnplacedMessage {
  id: string
  identity: string
  mailbox_ids: string[]
  received_at: Date
  is_read: boolean
  is_flagged: boolean
  is_draft: boolean
  categories: string[]
  direction: 'inbound' | 'outbound'
  /** True while its mailbox is read again; then it is probably still there. */
  is_renumbered: boolean
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

/**
 * Pairs arrivals with unplaced messages of the same identity, one to one: equal messages stay two. A message of the
 * same mailbox is taken first (its mailbox was renumbered), then one that vanished elsewhere (it moved), and one whose
 * mailbox is still being read again last (it is probably still there).
 */
export function pairUp<A extends Arrival<MessageKey | null>>(
  arrivals: readonly A[],
  unplaced: readonly UnplacedMessage[],
): { found: Array<{ arrival: A; unplaced: UnplacedMessage }>; created: A[] } {
  const candidates = Map.groupBy(unplaced, message => message.identity)
  const found: Array<{ arrival: A; unplaced: UnplacedMessage }> = []
  const created: A[] = []
  for (const arrival of arrivals) {
    const equals = candidates.get(arrival.message.identity) ?? []
    const best = equals.toSorted((a, b) => rank(a, arrival) - rank(b, arrival))[0]
    if (best === undefined) created.push(arrival)
    else {
      equals.splice(equals.indexOf(best), 1)
      found.push({ arrival, unplaced: best })
    }
  }
  return { found, created }
}

function rank(message: UnplacedMessage, arrival: Pick<Arrival, 'mailboxes'>): number {
  if (arrival.mailboxes.some(({ id }) => message.mailbox_ids.includes(id))) return 0
  return message.is_renumbered ? 2 : 1
}
