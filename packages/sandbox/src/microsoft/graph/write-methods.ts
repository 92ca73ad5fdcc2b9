import { attachmentMethods } from './attachments.ts'
import { draftMethods } from './drafts.ts'
import { messageChangeMethods } from './message-changes.ts'
import type { GraphMethod } from './method.ts'
import { replyMethods } from './replies.ts'
import { sendMethods } from './send.ts'

/** Every method that writes messages, and those of their attachments. */
export const writeMethods: readonly GraphMethod[] = [
  ...draftMethods,
  ...messageChangeMethods,
  ...replyMethods,
  ...sendMethods,
  ...attachmentMethods,
]
