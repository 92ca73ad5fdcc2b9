import type { Message } from '../mailbox/message.ts'
import { badRequest } from './errors.ts'
import { requireMessage } from './messages.ts'
import type { MethodCall } from './method.ts'

/** The message of a call that changes attachments, which has to be a draft. */
export function requireDraft(call: MethodCall): Message {
  const message = requireMessage(call)
  if (!message.isDraft) throw badRequest('The message is not a draft.', 'ErrorInvalidOperation')
  return message
}
