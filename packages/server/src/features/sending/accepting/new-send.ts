import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { Address } from '@waxwing/contract/shapes.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { Composed } from '../compose/compose.ts'
import type { SendTracking } from '../tracking/track-send.ts'
import type { WrittenContent } from './written-content.ts'

/** The time at which a message is sent, and the caller's own name for it. */
export interface SendOptions {
  sendAt?: Date | null | undefined
  undoSendSeconds?: number | undefined
  reference?: string | null | undefined
}

/** A message that is to be sent, composed or taken from a draft. */
export interface NewSend {
  /** The id of the entry, which the content names. */
  id: string
  /** With angle brackets, as the content has it. */
  internetMessageId: string
  from: Address
  to: readonly Address[]
  cc: readonly Address[]
  bcc: readonly Address[]
  replyTo: readonly Address[]
  subject: string | null
  importance: OutboxEntry['importance']
  /** The id of the message that it replies to, and its thread. */
  inReplyTo: string | null
  threadId: string | null
  /** The id of the message that it forwards. */
  forwardOf: string | null
  draftId: string | null
  /** The version of the draft that the message was taken from. */
  draftVersion: number | null
  templateId: string | null
  /** The suppression list that it names. */
  listId: string | null
  mailMergeId: string | null
  tracking: SendTracking
  content: Composed
  options: SendOptions
}

/** A message whose content is written. */
export interface WrittenSend extends Omit<NewSend, 'content'> {
  snippet: string
  hasAttachments: boolean
  /** Bytes of the whole message. */
  size: number
  content: WrittenContent
}

export interface AccountSend {
  account: AccountView
  send: WrittenSend
}

/** Values that the database has decided when a send was inserted. */
export interface InsertedSend {
  dueAt: Date
  createdAt: Date
  updatedAt: Date
  /** Whether the worker has to be woken, since its next look could come too late. */
  isSoon: boolean
  /** Sends that the plan of the tenant allows in a day; null if it sets no limit. */
  sendsPerDay: number | null
}
