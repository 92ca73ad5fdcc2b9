import type { MessageKey, RemoteMessage } from '../../../providers/mail.ts'
import type { PlacedMailbox } from './rules.ts'

/** A message of the provider, with the mailboxes of ours that it is in. */
export interface Arrival<K extends MessageKey | null = MessageKey> {
  message: Omit<RemoteMessage, 'key'> & { key: K }
  mailboxes: readonly PlacedMailbox[]
}

/**
 * Without a key it is a message that the interface added: a sync has yet to find its key in its mailbox. Without a
 * mailbox, too, it is missing.
 */
export type AnyArrival = Arrival<MessageKey | null>
