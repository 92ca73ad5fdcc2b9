import type { Mail } from '../../world/post-office.ts'
import { dateText, headersOf, withHeaders } from '../../mail/message-headers.ts'
import { addMessage, type Mailbox } from '../mailbox/mailbox.ts'
import type { Message } from '../mailbox/message.ts'
import { threadFor } from '../mailbox/threading.ts'

/** Puts a message into the inbox: one from outside byte for byte, one of a user of the sandbox with the lines of its way. */
export function receive(mailbox: Mailbox, { message, from }: Mail): Message {
  const raw = from === null ? Buffer.from(message) : withTrace(mailbox, Buffer.from(message), from)
  return addMessage(mailbox, {
    raw,
    labels: ['UNREAD', 'CATEGORY_PERSONAL', 'INBOX'],
    internalDate: mailbox.now(),
    threadId: threadFor(mailbox, headersOf(raw)),
  })
}

function withTrace(mailbox: Mailbox, raw: Buffer, from: string): Buffer {
  const add = [
    `Delivered-To: ${mailbox.email}`,
    `Return-Path: <${from}>`,
    `Received: from mail-sor-f41.google.com by mx.google.com with SMTPS for <${mailbox.email}>; ${dateText(mailbox.now())}`,
  ]
  return withHeaders(raw, { remove: [], add })
}

/** The mailbox of an address: a user's own, one of their aliases, or with a tag behind a plus. */
export function mailboxOf(mailboxes: ReadonlyMap<string, Mailbox>, address: string): Mailbox | undefined {
  const plain = address.toLowerCase().replace(/\+[^@]*@/, '@')
  return (
    mailboxes.get(plain) ??
    [...mailboxes.values()].find(({ sendAs }) => sendAs.get(plain)?.verificationStatus === 'accepted')
  )
}
