import { addressesIn, headerOf } from '../../mail/headers.ts'
import { writeAddresses } from '../../mail/addresses.ts'
import { dateText, headersOf, recipientsIn, withHeaders } from '../../mail/message-headers.ts'
import type { User } from '../../world/users.ts'
import { badRequest, GraphRefusal } from '../graph/errors.ts'
import type { MethodCall } from '../graph/method.ts'
import { refuseThrottled } from '../graph/throttle.ts'
import { isDelegate } from '../graph/writing.ts'
import { type Mailbox, wellKnownFolder } from '../mailbox/mailbox.ts'
import type { Message, MessageFields } from '../mailbox/message.ts'
import { rewritten } from '../mailbox/draft-content.ts'
import {
  addMessage,
  changeMessage,
  type MessageChanges,
  moveMessage,
  removeMessage,
} from '../mailbox/messages.ts'
import { newMessageId } from './message-id.ts'
import { writeNdr } from './ndr.ts'

const RECIPIENTS_MAX = 500

/** A message larger than this is not sent: the default of organizations. */
const MESSAGE_BYTES_MAX = 36_700_160

/** A message to send: a draft, or one that is in no folder yet. */
export interface Submission {
  readonly raw: Buffer
  readonly draft: Message | null
  /** Properties of the copy that its MIME does not give. */
  readonly fields?: Partial<MessageFields>
  /** Whether a copy is kept in Sent Items. */
  readonly isSaved: boolean
}

/**
 * Sends a message as the owner of the mailbox. Each user whom it names gets a copy without Bcc, unknown addresses of the
 * users' domains are reported back, and mail to other domains leaves the sandbox. The copy has the id of the draft.
 */
export function submit(call: MethodCall, submission: Submission): void {
  const { graph, mailbox } = call
  const { raw } = submission
  const recipients = recipientsIn(headersOf(raw))
  if (recipients.length === 0)
    throw badRequest('At least one recipient is not valid.', 'ErrorInvalidRecipients')
  if (recipients.length > RECIPIENTS_MAX)
    throw badRequest('The message has too many recipients.', 'ErrorInvalidRecipients')
  if (raw.length > MESSAGE_BYTES_MAX)
    throw badRequest('The message exceeds the maximum supported size.', 'ErrorMessageSizeExceeded')
  const from = senderOf(call, raw)
  const refused = graph.writing.throttle.send(mailbox.email)
  if (refused) throw refuseThrottled(refused)
  const sent = outgoingOf(call, raw, from)
  const delivered = withHeaders(sent, { remove: ['bcc'], add: [] })
  for (const recipient of recipients) deliverTo(call, { sent, delivered, from }, recipient)
  fileCopy(call, submission, sent)
}

/** The user in From. Refuses one whom the caller may not send as. */
function senderOf({ graph, owner, caller }: MethodCall, raw: Buffer): User {
  const [asked] = addressesIn(headerOf(headersOf(raw), 'From'))
  if (asked === undefined || asked === owner.email) return owner
  const user = graph.post.findUser(asked)
  const isAllowed = user && (user.email === caller.user.email || user.delegates.includes(caller.user.email))
  if (!isAllowed)
    throw new GraphRefusal(
      403,
      'ErrorSendAsDenied',
      'The user account which was used to submit this request does not have the right to send mail on behalf of the specified sending account.',
    )
  return user
}

function outgoingOf({ graph, mailbox }: MethodCall, raw: Buffer, from: User): Buffer {
  const headers = headersOf(raw)
  const add = [`Date: ${dateText(mailbox.now())}`]
  if (headerOf(headers, 'From') === '')
    add.push(`From: ${writeAddresses([{ name: from.name, address: from.email }])}`)
  if (headerOf(headers, 'Message-ID') === '') add.push(`Message-ID: ${newMessageId(graph.writing.unique())}`)
  return withHeaders(raw, { remove: ['date'], add })
}

interface Outgoing {
  readonly sent: Buffer
  readonly delivered: Buffer
  readonly from: User
}

function deliverTo(
  { graph, mailbox }: MethodCall,
  { sent, delivered, from }: Outgoing,
  recipient: string,
): void {
  const { post, writing } = graph
  const user = post.findUser(recipient)
  if (user) return void post.deliver(user, { message: delivered, from: from.email })
  if (!post.isLocal(recipient)) return
  const headers = headersOf(sent)
  const message = writeNdr({
    sender: from.email,
    recipient,
    subject: headerOf(headers, 'Subject'),
    messageId: headerOf(headers, 'Message-ID'),
    sent: delivered,
    at: mailbox.now(),
    unique: writing.unique(),
  })
  post.deliver(from, { message, from: null })
}

function fileCopy(call: MethodCall, { draft, fields, isSaved }: Submission, sent: Buffer): void {
  const { graph, mailbox, caller } = call
  const { settings, lateCopies } = graph.writing
  const now = mailbox.now()
  const copy = { isDraft: false, isRead: true, sentAt: now, receivedAt: now }
  const isElsewhere = isDelegate(call) && settings.copyIn === 'delegate'
  if (draft && isSaved && !isElsewhere)
    return sendDraft(mailbox, draft, { ...rewritten(draft, sent), ...copy }, work =>
      lateCopies.after(settings.lateCopySeconds, work),
    )
  if (draft) removeMessage(mailbox, draft)
  if (!isSaved) return
  const target = isElsewhere ? graph.mailboxOf(caller.user) : mailbox
  lateCopies.after(settings.lateCopySeconds, () => {
    addMessage(target, {
      folder: wellKnownFolder(target, 'sentitems'),
      raw: sent,
      fields: { ...fields, ...copy },
    })
  })
}

/** Moves a draft to Sent Items. A copy that comes late is in the outbox until then, and its ids find nothing. */
function sendDraft(
  mailbox: Mailbox,
  draft: Message,
  changes: MessageChanges,
  later: (work: () => void) => void,
): void {
  const arrive = () => {
    moveMessage(mailbox, draft, wellKnownFolder(mailbox, 'sentitems'))
    mailbox.byId.set(draft.immutableId, draft)
    changeMessage(mailbox, draft, changes)
  }
  let isDone = false
  later(() => {
    isDone = true
    arrive()
  })
  if (isDone) return
  moveMessage(mailbox, draft, wellKnownFolder(mailbox, 'outbox'))
  for (const id of [draft.id, draft.immutableId]) mailbox.byId.delete(id)
}
