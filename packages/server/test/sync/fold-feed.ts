import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { FeedEvent } from './followed-account.ts'

/** The content of the index, by id. */
export interface IndexState {
  mailboxes: Map<string, Mailbox>
  messages: Map<string, MessageSummary>
}

/**
 * The state of a consumer that had this state and then read the feed.
 * @throws if the feed contradicts itself: created twice, changed before it was created, or after it was deleted
 */
export function foldFeed(state: IndexState, feed: readonly FeedEvent[]): IndexState {
  const folded = { mailboxes: new Map(state.mailboxes), messages: new Map(state.messages) }
  for (const { type, data } of feed) {
    if (data.message) fold(folded.messages, type, data.message)
    else if (data.mailbox) fold(folded.mailboxes, type, data.mailbox)
  }
  return folded
}

/** Applies one event to items by id. @throws if it contradicts the events before it */
export function fold<Item extends { id: string }>(held: Map<string, Item>, type: string, item: Item): void {
  const isCreation = type.endsWith('.created')
  if (isCreation === held.has(item.id)) {
    throw new Error(
      `${type} of ${JSON.stringify(item)} ${isCreation ? 'that was there' : 'that was not there'}`,
    )
  }
  if (type.endsWith('.deleted')) held.delete(item.id)
  else held.set(item.id, item)
}

/** The number of messages that existed before the feed mentions them, given the state at its end. */
export function countUnannounced(feed: readonly FeedEvent[], end: IndexState): number {
  const ids = new Set(end.messages.keys())
  for (const { data } of feed) if (data.message) ids.add(data.message.id)
  for (const { type, data } of feed)
    if (type === 'message.created' && data.message) ids.delete(data.message.id)
  return ids.size
}
