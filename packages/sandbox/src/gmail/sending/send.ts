import { headerOf } from '../mail/headers.ts'
import { invalidArgument } from '../api/refusal.ts'
import { addMessage, changeLabels, headersOf, type Mailbox, type Message } from '../mailbox/mailbox.ts'
import { threadFor } from '../mailbox/threading.ts'
import type { GmailState } from '../state.ts'
import { bounceOf } from './bounce.ts'
import { dateText, outgoingOf, withHeaders, type Outgoing } from './outgoing.ts'

const RECIPIENTS_MAX = 500

/**
 * Sends a message: the sender keeps a copy in SENT, each user who is named gets one. Unknown
 * addresses of the users' domains bounce; mail to other domains leaves the sandbox.
 */
export function sendMessage(
  state: GmailState,
  mailbox: Mailbox,
  raw: Buffer,
  threadId: string | undefined,
): Message {
  const outgoing = outgoingOf(mailbox, raw, state.settings.overwriteMessageIds)
  if (outgoing.recipients.length === 0) throw invalidArgument('Recipient address required')
  if (outgoing.recipients.length > RECIPIENTS_MAX) throw invalidArgument('Too many recipients')
  const headers = headersOf(outgoing.sent)
  const message = addMessage(mailbox, {
    raw: outgoing.sent,
    labels: ['SENT'],
    internalDate: mailbox.now(),
    threadId,
  })
  const messageId = headerOf(headers, 'Message-ID')
  for (const recipient of outgoing.recipients)
    deliverTo(state, mailbox, message, outgoing, recipient, messageId)
  return message
}

function deliverTo(
  state: GmailState,
  sender: Mailbox,
  sent: Message,
  outgoing: Outgoing,
  recipient: string,
  messageId: string,
): void {
  const mailbox = mailboxOf(state, recipient)
  // Gmail keeps one copy of what somebody sends to themselves.
  if (mailbox === sender) changeLabels(sender, sent, ['INBOX', 'UNREAD'], [])
  else if (mailbox) receive(mailbox, withTrace(mailbox, outgoing))
  else if (isLocal(state, recipient)) receive(sender, bounceOf(outgoing, recipient, messageId, sender.now()))
}

function withTrace(mailbox: Mailbox, outgoing: Outgoing): Buffer {
  const add = [
    `Delivered-To: ${mailbox.email}`,
    `Return-Path: <${outgoing.from}>`,
    `Received: from mail-sor-f41.google.com by mx.google.com with SMTPS for <${mailbox.email}>; ${dateText(mailbox.now())}`,
  ]
  return withHeaders(outgoing.delivered, { remove: [], add })
}

/** The mailbox of an address: a user's own, one of their aliases, or with a tag behind a plus. */
export function mailboxOf(state: GmailState, address: string): Mailbox | undefined {
  const plain = address.toLowerCase().replace(/\+[^@]*@/, '@')
  const own = state.mailboxes.get(plain)
  return (
    own ??
    [...state.mailboxes.values()].find(({ sendAs }) => sendAs.get(plain)?.verificationStatus === 'accepted')
  )
}

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)

const isLocal = (state: GmailState, address: string): boolean =>
  [...state.mailboxes.keys()].some(email => domainOf(email) === domainOf(address))

/** Puts a message from outside into a mailbox, with the bytes as they came. */
export const receive = (mailbox: Mailbox, raw: Buffer): Message =>
  addMessage(mailbox, {
    raw,
    labels: ['UNREAD', 'CATEGORY_PERSONAL', 'INBOX'],
    internalDate: mailbox.now(),
    threadId: threadFor(mailbox, headersOf(raw)),
  })
