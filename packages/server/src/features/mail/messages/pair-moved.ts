import type { MessageKey } from '../../../providers/mail.ts'
import type { Arrival } from './arrival.ts'

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
