import { headerOf, type Header } from '../../mail/headers.ts'
import { headersOf } from '../../mail/message-headers.ts'
import { addMessage } from '../mailbox/mailbox.ts'
import type { Message } from '../mailbox/message.ts'
import { threadFor } from '../mailbox/threading.ts'
import { presentIds } from '../payload.ts'
import { sendMessage } from '../sending/send.ts'
import { booleanIn, stringIn, stringsIn, wordIn } from '../../google/api/input.ts'
import { messageIn, requireLabels } from './input.ts'
import { COMPOSE, INSERT, MAIL, MODIFY, SEND, type GmailMethod, type MethodCall } from './method.ts'
import { notFound } from '../../google/api/refusal.ts'
import { SHAPES } from './shapes.ts'

const arrival = { http: 'POST', body: SHAPES.message, answer: SHAPES.message, uploads: true } as const

export const messageArrivalMethods: readonly GmailMethod[] = [
  {
    ...arrival,
    id: 'messages.send',
    path: 'messages/send',
    scopes: [MAIL, MODIFY, COMPOSE, SEND],
    run: send,
  },
  {
    ...arrival,
    id: 'messages.insert',
    path: 'messages',
    scopes: [MAIL, MODIFY, INSERT],
    query: ['internalDateSource', 'deleted'],
    run: call => add(call, 'receivedTime'),
  },
  {
    ...arrival,
    id: 'messages.import',
    path: 'messages/import',
    scopes: [MAIL, MODIFY, INSERT],
    query: ['internalDateSource', 'deleted', 'neverMarkSpam', 'processForCalendar'],
    run: call => add(call, 'dateHeader'),
  },
]

function send(call: MethodCall): object {
  const raw = messageIn(call, call.body)
  const threadId = threadFor(call.mailbox, headersOf(raw), requestedThread(call, call.body))
  return presentIds(sendMessage(call.gmail, call.mailbox, raw, threadId))
}

/** The thread that a message is to join, which exists. */
export function requestedThread(
  { mailbox }: MethodCall,
  message: Record<string, unknown>,
): string | undefined {
  const threadId = stringIn(message, 'threadId')
  if (!threadId) return undefined
  if (!mailbox.threads.has(threadId)) throw notFound()
  return threadId
}

const SOURCES = ['receivedTime', 'dateHeader'] as const

/** Puts a message into the mailbox, byte for byte; nobody else gets it. */
function add(call: MethodCall, source: (typeof SOURCES)[number]): object {
  const { mailbox, query, body } = call
  const raw = messageIn(call, body)
  const labels = stringsIn(body, 'labelIds')
  requireLabels(mailbox, labels)
  booleanIn(query, 'deleted')
  const headers = headersOf(raw)
  const message: Message = addMessage(mailbox, {
    raw,
    labels,
    internalDate:
      wordIn(query, 'internalDateSource', SOURCES, source) === 'dateHeader'
        ? dateOf(headers, mailbox.now())
        : mailbox.now(),
    threadId: threadFor(mailbox, headers, requestedThread(call, body)),
  })
  return presentIds(message)
}

/** The time of the Date header, without its milliseconds, which it does not have. */
function dateOf(headers: Header[], now: number): number {
  const date = Date.parse(headerOf(headers, 'Date').replace(/\s*\([^)]*\)\s*$/, ''))
  return Number.isNaN(date) || date < 0 ? now : date
}
