import { newMessageId } from '../sending/message-id.ts'
import { type WrittenMessage, writeMessage } from '../mailbox/mime-out.ts'
import type { MessageInput } from './message-input.ts'
import type { MethodCall } from './method.ts'

/** The MIME of what a client wrote, without its attachments. */
export function writeInput(
  { graph, mailbox }: MethodCall,
  { fields, body, headers }: MessageInput,
  answers: WrittenMessage['answers'],
): Buffer {
  const { unique } = graph.writing
  return writeMessage(
    {
      subject: '',
      from: { name: mailbox.name, address: mailbox.email },
      sender: null,
      toRecipients: [],
      ccRecipients: [],
      bccRecipients: [],
      replyTo: [],
      importance: 'normal',
      isReadReceiptRequested: false,
      isDeliveryReceiptRequested: false,
      internetMessageId: newMessageId(unique()),
      ...fields,
      sentAt: mailbox.now(),
      answers,
      headers,
      body: body ?? { contentType: 'text', content: '' },
      attached: [],
    },
    () => `_000_${unique()}_`,
  )
}
