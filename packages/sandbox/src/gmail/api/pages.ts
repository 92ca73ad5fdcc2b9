import type { Mailbox } from '../mailbox/mailbox.ts'
import type { Message } from '../mailbox/message.ts'
import { placeOf } from '../mailbox/mailbox.ts'
import { searchIn } from '../search/match.ts'
import { booleanIn, integerIn } from '../../google/api/input.ts'
import { requireLabels } from './input.ts'
import { seesOnlyMetadata, type MethodCall } from './method.ts'
import { forbidden, invalidArgument } from '../../google/api/refusal.ts'

export const LIST_QUERY = ['q', 'labelIds', 'maxResults', 'pageToken', 'includeSpamTrash'] as const

const PAGE_DEFAULT = 100
const PAGE_MAX = 500
const ESTIMATE_MAX = 201
const ORDER_DIGITS = 10

export interface Page {
  messages: Message[]
  nextPageToken?: string
  resultSizeEstimate: number
}

/** One page of the messages that a list asks for, newest first. `once` keeps one message a thread. */
export function pageOf(call: MethodCall, required: string[], once: 'message' | 'thread'): Page {
  const { mailbox, query } = call
  const matches = matcher(call, required)
  const max = integerIn(query, 'maxResults', PAGE_DEFAULT, PAGE_MAX)
  const { ordered, from } = source(mailbox, query.get('pageToken'), matches.candidates)
  const messages: Message[] = []
  let rest: Message | null = null
  for (let at = from; at >= 0; at -= 1) {
    const message = ordered[at] as Message
    if (!matches.all(message)) continue
    if (once === 'thread' && newestMatch(mailbox, message, matches.all) !== message) continue
    if (messages.length === max) {
      rest = message
      break
    }
    messages.push(message)
  }
  return {
    messages,
    ...(rest && { nextPageToken: tokenBefore(messages.at(-1) as Message) }),
    resultSizeEstimate: rest ? Math.max(ESTIMATE_MAX, max + 1) : messages.length,
  }
}

interface Matcher {
  all: (message: Message) => boolean
  candidates: Message[] | null
}

function matcher(call: MethodCall, required: string[]): Matcher {
  const { mailbox, query, caller } = call
  const q = query.get('q')
  if (q && seesOnlyMetadata(caller)) throw forbidden("Metadata scope does not support 'q' parameter")
  const labels = [...query.getAll('labelIds'), ...required]
  requireLabels(mailbox, labels)
  const search = q ? searchIn(mailbox, q) : null
  const everywhere =
    booleanIn(query, 'includeSpamTrash') ||
    search?.everywhere ||
    labels.includes('SPAM') ||
    labels.includes('TRASH')
  return {
    all: message =>
      labels.every(label => message.labels.has(label)) &&
      (everywhere || !(message.labels.has('SPAM') || message.labels.has('TRASH'))) &&
      (search?.matches(message) ?? true),
    candidates: search?.candidates ?? smallestLabel(mailbox, labels),
  }
}

/** The messages of the rarest label of a list, if that is much less than the whole mailbox. */
function smallestLabel(mailbox: Mailbox, labels: string[]): Message[] | null {
  const sets = labels.map(label => mailbox.byLabel.get(label) ?? new Set<Message>())
  const smallest = sets.toSorted((a, b) => a.size - b.size)[0]
  return smallest && smallest.size * 10 < mailbox.ordered.length ? [...smallest] : null
}

function source(
  mailbox: Mailbox,
  token: string | null,
  candidates: Message[] | null,
): { ordered: Message[]; from: number } {
  const ordered = candidates
    ? candidates.toSorted((a, b) => a.internalDate - b.internalDate || a.order - b.order)
    : mailbox.ordered
  if (!token) return { ordered, from: ordered.length - 1 }
  if (!/^\d{11,30}$/.test(token)) throw invalidArgument('Invalid pageToken')
  const date = Number(token.slice(0, -ORDER_DIGITS))
  return { ordered, from: placeOf(ordered, date, Number(token.slice(-ORDER_DIGITS))) - 1 }
}

const tokenBefore = (message: Message): string =>
  `${message.internalDate}${String(message.order).padStart(ORDER_DIGITS, '0')}`

/** The newest message of a thread that the list would show. */
function newestMatch(mailbox: Mailbox, message: Message, matches: (message: Message) => boolean): Message {
  let newest = message
  for (const other of mailbox.threads.get(message.threadId) ?? []) {
    const later = other.internalDate - newest.internalDate || other.order - newest.order
    if (later > 0 && matches(other)) newest = other
  }
  return newest
}
