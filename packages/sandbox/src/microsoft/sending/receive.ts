import { dateText, withHeaders } from '../../mail/message-headers.ts'
import type { Mail } from '../../world/post-office.ts'
import { type Mailbox, wellKnownFolder } from '../mailbox/mailbox.ts'
import type { Message } from '../mailbox/message.ts'
import { addMessage } from '../mailbox/messages.ts'

/** Puts a message into the inbox: from outside byte for byte, from a user of the sandbox with trace headers. */
export function receive(mailbox: Mailbox, { message, from }: Mail): Message {
  const given = Buffer.from(message)
  return addMessage(mailbox, {
    folder: wellKnownFolder(mailbox, 'inbox'),
    raw: from === null ? given : withTrace(mailbox, given, from),
    fields: { isRead: false, isDraft: false, receivedAt: mailbox.now() },
  })
}

function withTrace(mailbox: Mailbox, raw: Buffer, from: string): Buffer {
  const at = dateText(mailbox.now())
  return withHeaders(raw, {
    remove: ['return-path'],
    add: [
      `Received: from sender.prod.outlook.com by receiver.prod.outlook.com with HTTPS; ${at}`,
      `Return-Path: ${from}`,
      `X-MS-Exchange-Organization-AuthAs: Internal`,
    ],
  })
}
