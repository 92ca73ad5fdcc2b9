import type { FeedEvent } from '../../sync/followed-account.ts'
import { foldFeed, type IndexState } from '../../sync/fold-feed.ts'
import type { MailboxState } from '../evidence.ts'
import type { Check, Violation } from '../violation.ts'

/**
 * I6: a client that had the index before the faults and then read the feed has the index of the end. Nothing changes
 * before it is created or after it is deleted, and no event announces a state that was there already.
 */
export const checkEvents: Check = ({ end }) =>
  end.mailboxes.flatMap(mailbox => {
    const events = end.feed.filter(
      event => event.accountId === mailbox.accountId && BigInt(event.id) > BigInt(mailbox.afterEventId),
    )
    return [...compareFolded(mailbox, events), ...findRepeated(mailbox, events)]
  })

function compareFolded({ accountId, before, after }: MailboxState, events: FeedEvent[]): Violation[] {
  let folded: IndexState
  try {
    folded = foldFeed(before, events)
  } catch (error) {
    return [broken(accountId, String(error))]
  }
  return [
    ...compareItems(accountId, 'message', folded.messages, after.messages),
    ...compareItems(accountId, 'mailbox', withoutCounts(folded.mailboxes), withoutCounts(after.mailboxes)),
  ]
}

/** No event announces counts. */
function withoutCounts<Item extends object>(items: ReadonlyMap<string, Item>): Map<string, object> {
  return new Map([...items].map(([id, item]) => [id, { ...item, totalCount: null, unreadCount: null }]))
}

/** Compares the items that the feed leads to with those of the index. */
export function compareItems(
  accountId: string,
  noun: string,
  folded: ReadonlyMap<string, object>,
  index: ReadonlyMap<string, object>,
): Violation[] {
  const ids = new Set([...folded.keys(), ...index.keys()])
  return [...ids].flatMap(id => {
    const [told, is] = [folded.get(id), index.get(id)]
    if (!is) return [broken(accountId, `the feed never said that ${noun} ${id} is gone`)]
    if (!told) return [broken(accountId, `the feed never said that ${noun} ${id} exists`)]
    const differing = differences(told, is)
    if (differing.length === 0) return []
    return [broken(accountId, `the feed has other values of ${differing.join(', ')} of ${noun} ${id}`)]
  })
}

function differences(one: object, other: object): string[] {
  const [told, is] = [one, other].map(item => item as Record<string, unknown>) as [
    Record<string, unknown>,
    Record<string, unknown>,
  ]
  return [...new Set([...Object.keys(told), ...Object.keys(is)])].filter(
    field => JSON.stringify(told[field]) !== JSON.stringify(is[field]),
  )
}

/** An update that changes nothing was announced twice. */
function findRepeated({ accountId, before }: MailboxState, events: readonly FeedEvent[]): Violation[] {
  const values = new Map<string, object>(before.messages)
  return events.flatMap(({ id, type, data: { message, changes } }) => {
    if (!message) return []
    const known = values.get(message.id)
    values.set(message.id, message)
    if (type !== 'message.updated' || !known || !changes) return []
    const differing = differences(known, message)
    if (changes.some(change => differing.includes(change))) return []
    return [
      broken(
        accountId,
        `event ${id} says that ${changes.join(', ')} of a message changed, as it was said before`,
      ),
    ]
  })
}

function broken(accountId: string, message: string): Violation {
  return { invariant: 'I6', message: `account ${accountId}: ${message}` }
}
