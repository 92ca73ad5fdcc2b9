import type { PlacedMailbox } from '../../src/features/mail/messages/rules.ts'
import { newId } from '../../src/kit/ids.ts'
import type { RemoteMessage } from '../../src/providers/mail.ts'

/** A message of this sender that a step of the sync brings into a mailbox. */
export function arrivalFrom(address: string, mailbox: PlacedMailbox, uid: number) {
  const message: RemoteMessage = {
    key: uid,
    identity: newId(),
    threadId: null,
    internetMessageId: null,
    references: [],
    inReplyTo: [],
    mailboxKeys: [mailbox.key],
    subject: `${uid} from ${address}`,
    from: { name: null, address },
    to: [],
    cc: [],
    bcc: [],
    replyTo: [],
    snippet: '',
    receivedAt: new Date(1.7e12 + uid),
    sentAt: null,
    isRead: false,
    isFlagged: false,
    isDraft: false,
    hasAttachments: false,
    categories: [],
    importance: 'normal',
    draftMark: null,
    draftKey: null,
    mayBeReport: false,
    mayBeInvitation: false,
    size: 100,
  }
  return { message, mailboxes: [mailbox] }
}
