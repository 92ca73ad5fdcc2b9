import { baseSubject, headerOf, type Header } from '../../mail/headers.ts'
import { referencesOf } from '../../mail/message-headers.ts'
import { type Mailbox } from './mailbox.ts'
import type { Message } from './message.ts'

/**
 * The thread that a message joins: the one asked for, if it fits; without one, that of a message it answers; for a
 * draft, the thread of its last version, as long as the subject stays. Otherwise it begins its own.
 */
export function threadFor(
  mailbox: Mailbox,
  headers: Header[],
  asked?: string,
  before?: Message,
): string | undefined {
  if (asked !== undefined && asked !== before?.threadId) return fittingThread(mailbox, headers, asked)
  const answered = threadOf(mailbox, headers)
  if (answered !== undefined || before === undefined) return answered
  return before.baseSubject === baseSubject(headerOf(headers, 'Subject')) ? before.threadId : undefined
}

/** The thread of a message that this one names, under the same subject. */
function threadOf(mailbox: Mailbox, headers: Header[]): string | undefined {
  const subject = baseSubject(headerOf(headers, 'Subject'))
  for (const id of referencesOf(headers))
    for (const message of mailbox.byMessageId.get(id) ?? [])
      if (message.baseSubject === subject) return message.threadId
  return undefined
}

/** Gmail follows a `threadId` only if the message names one of the thread, and the subjects match. */
function fittingThread(mailbox: Mailbox, headers: Header[], threadId: string): string | undefined {
  const subject = baseSubject(headerOf(headers, 'Subject'))
  const references = new Set(referencesOf(headers))
  for (const message of mailbox.threads.get(threadId) ?? [])
    if (message.baseSubject === subject && references.has(message.messageId)) return threadId
  return undefined
}
