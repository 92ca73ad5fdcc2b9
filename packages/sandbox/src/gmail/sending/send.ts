import type { PostOffice } from '../../world/post-office.ts'
import { invalidArgument } from '../../google/api/refusal.ts'
import { headerOf } from '../../mail/headers.ts'
import { headersOf } from '../../mail/message-headers.ts'
import { addMessage, changeLabels, type Mailbox } from '../mailbox/mailbox.ts'
import type { Message } from '../mailbox/message.ts'
import type { GmailParts } from '../parts.ts'
import { bounceOf } from './bounce.ts'
import { outgoingOf, type Outgoing } from './outgoing.ts'
import { receive } from './receive.ts'

const RECIPIENTS_MAX = 500

/**
 * Sends a message: the sender keeps a copy in SENT, and each user whom it names gets one. Unknown addresses of the
 * users' domains bounce; mail to other domains leaves the sandbox.
 */
export function sendMessage(
  { settings, post }: GmailParts,
  mailbox: Mailbox,
  raw: Buffer,
  threadId: string | undefined,
): Message {
  const outgoing = outgoingOf(mailbox, raw, settings.overwriteMessageIds)
  if (outgoing.recipients.length === 0) throw invalidArgument('Recipient address required')
  if (outgoing.recipients.length > RECIPIENTS_MAX) throw invalidArgument('Too many recipients')
  const message = addMessage(mailbox, {
    raw: outgoing.sent,
    labels: ['SENT'],
    internalDate: mailbox.now(),
    threadId,
  })
  for (const recipient of outgoing.recipients) deliverTo(post, mailbox, message, outgoing, recipient)
  return message
}

function deliverTo(
  post: PostOffice,
  sender: Mailbox,
  sent: Message,
  outgoing: Outgoing,
  recipient: string,
): void {
  const user = post.findUser(recipient)
  // Gmail keeps one copy of what somebody sends to themselves.
  if (user?.email === sender.email) changeLabels(sender, sent, ['INBOX', 'UNREAD'], [])
  else if (user) post.deliver(user, { message: outgoing.delivered, from: outgoing.from })
  else if (post.isLocal(recipient)) {
    const messageId = headerOf(headersOf(outgoing.sent), 'Message-ID')
    receive(sender, { message: bounceOf(outgoing, recipient, messageId, sender.now()), from: null })
  }
}
